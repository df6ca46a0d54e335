"""Kernels of the cliques of labels, for the tasks that have them."""
