"""Segmentations: runs of positions with a label each."""
