"""Chains of labels, each of which depends on the one before."""
