"""Solvers that keep marginals, most of them for the hinge loss."""
