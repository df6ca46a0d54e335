"""Files that are written whole, checked when they are read, and hold data and never code."""
