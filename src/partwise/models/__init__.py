"""Trained models and model files."""
