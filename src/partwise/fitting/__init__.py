"""From examples to a model: one module a kind of example, around ``fit.fit_model``."""
