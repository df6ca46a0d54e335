"""Trained models, and the files that they are kept in."""
