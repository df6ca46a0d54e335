"""The encoders: how examples become features, one file each.

An encoder belongs to a model and is saved with it, as data.
"""
