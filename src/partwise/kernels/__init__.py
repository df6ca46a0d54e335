"""Kernels: similarities of rows, their Gram matrix, and models made of supporting rows."""
