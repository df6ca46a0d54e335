"""The structures: what a label is made of, one file or folder per structure.

A structure says which parts a label has and offers two compiled oracles over one example's part
scores, ``marginals`` and ``maximum``; everything else about labels is derived from these.
"""
