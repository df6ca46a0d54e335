"""Dependency trees, projective or not."""
