"""Coordinate descent and ascent."""
