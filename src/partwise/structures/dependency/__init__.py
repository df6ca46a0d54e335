"""Dependency trees, projective ones and any."""
