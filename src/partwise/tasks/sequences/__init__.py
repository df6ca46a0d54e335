"""Classifiers, taggers and segmenters."""
