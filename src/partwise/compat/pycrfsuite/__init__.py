"""python-crfsuite's interface, with partwise behind it.

``from partwise.compat import pycrfsuite`` in place of ``import pycrfsuite`` is the whole migration.
`Trainer` writes CRFsuite's own model files, which CRFsuite and python-crfsuite read, and `Tagger`
reads theirs.

What is different:

- "lbfgs" and "l2sgd" minimise CRFsuite's objective to a certified optimum, with a solver that the
  package chooses. Training stops when the relative duality gap is at most ``delta``, or after
  ``max_iterations`` passes over the data. ``Trainer.certificate`` says how far the objective is at
  most above the optimum, and is written beside the model, as ``<model>.certificate.json``.
  ``epsilon``, ``period``, ``num_memories``, ``linesearch``, ``max_linesearch`` and
  ``calibration.*`` are accepted and have no effect.
- "ap", "pa" and "arow" are CRFsuite's learners. They have no certificate. Sequences are shuffled
  by a generator of their own, always the same, so that weights differ from CRFsuite's by the
  order.
- ``c2=0`` is refused, because without it there is no bound on the distance from the optimum.
- Known bugs are not copied. A tagger that is not open raises a ValueError in `Tagger.tag` and
  `Tagger.set`; a damaged model file raises a ValueError in `Tagger.open`, where the original may
  crash. Features of an unknown form (a plain string as a sequence or an item, None, a name that is
  no string, a number that is nan or infinite) raise an error that is a ValueError and a TypeError,
  where the original takes a string apart into letters or raises a SystemError. A name with a zero
  byte is refused and not cut. `Trainer.get` returns the value that was set, not the six digits of
  it that C prints, and `Trainer.set` refuses values that it cannot read in place of taking them
  for 0. Weights in `Tagger.info` have all their digits. A label or attribute may contain
  ``-->`` or a line feed. `Tagger.dump` truncates a longer file of the same name.
"""

from __future__ import annotations

from ._dumpparser import ParsedDump
from ._logparser import TrainLogParser
from .items import ItemSequence
from .tagger import Tagger
from .trainer import BaseTrainer, CRFSuiteError, Trainer

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "ParsedDump",
    "Tagger",
    "TrainLogParser",
    "Trainer",
]

#: The version of CRFsuite whose files and parameters these are.
CRFSUITE_VERSION = "0.12.2"
