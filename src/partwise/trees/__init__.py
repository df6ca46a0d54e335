"""Trees of words: ordered trees, dependency trees, treebanks and what is read off them."""
