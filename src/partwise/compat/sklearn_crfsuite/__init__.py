"""sklearn-crfsuite's interface, with partwise behind it.

``from partwise.compat import sklearn_crfsuite`` in place of ``import sklearn_crfsuite`` is the
whole migration: `CRF`, `metrics` and `scorers` have the names of sklearn-crfsuite 0.5.

What is different is listed in :mod:`partwise.compat.pycrfsuite`, and besides:

- ``CRF.certificate_`` says how far the objective is at most above the optimum. It is None for
  "ap", "pa" and "arow", which have no certificate.
- `CRF.predict` and `CRF.predict_marginals` always return a one-dimensional array with one list per
  sequence. The original returns a two-dimensional array where all sequences have the same length,
  which breaks `metrics.sequence_accuracy_score` (it gives 2.0 for two right labels) and
  `cross_val_predict`. ``==`` compares such an array sequence by sequence.
- `metrics.sequence_accuracy_score` compares sequences, whatever their lengths.
- `CRF.fit` refuses X and y of different lengths, where the original drops the rest.
- ``set_params(model_filename=...)`` takes effect.
- An estimator without a fit raises scikit-learn's ``NotFittedError`` in `CRF.predict`.
"""

from __future__ import annotations

from . import metrics
from .estimator import CRF

__all__ = ["CRF", "metrics"]
