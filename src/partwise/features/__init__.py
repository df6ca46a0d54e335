"""Features: from tokens, arcs, spans and segments to numbers, by templates and vocabularies."""
