"""Stochastic average gradient methods."""
