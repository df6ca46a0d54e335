"""File formats: reading and writing of examples. Nothing in here imports numba."""
