"""The structures: what a label is made of, one file each.

A structure says which parts a label has and offers two compiled oracles over one example's part
scores, ``marginals`` and ``maximum``; everything else about labels is derived from these.
"""
