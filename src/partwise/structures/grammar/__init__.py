"""Derivations of a weighted context-free grammar."""
