"""Arithmetic that the compiled loops share."""
