"""Text files to examples and back. Nothing in here imports numba."""
