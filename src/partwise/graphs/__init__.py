"""Graphs and the labels of their vertices, as users hold them."""
