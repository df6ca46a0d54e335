"""Cutting planes."""
