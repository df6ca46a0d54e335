"""Exponentiated gradient."""
