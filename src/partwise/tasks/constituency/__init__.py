"""Phrase-structure parsers."""
