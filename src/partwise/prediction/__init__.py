"""From a model to predictions: one module a kind of label, around ``inference``."""
