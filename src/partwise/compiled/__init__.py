"""Compiled code: the decorators, the cache on disk, threads and vector arithmetic."""
