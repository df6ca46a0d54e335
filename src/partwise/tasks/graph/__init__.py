"""Labellers of the vertices of graphs."""
