"""Labels of the vertices of a graph of low tree width."""
