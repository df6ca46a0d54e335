"""Trainers with the interface of python-crfsuite."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...files.whole_files import replacing
from ...models.foreign.crfsuite import write_crfsuite_model
from ._logparser import TrainLogParser
from .instances import Instances
from .items import read_labels
from .learning import TrainingLog, learn
from .parameters import ParameterSet, find_algorithm

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...training.certificate import Certificate

__all__ = ["BaseTrainer", "CRFSuiteError", "Trainer", "certificate_path"]


class CRFSuiteError(Exception):
    """The error of python-crfsuite for a failed training.

    It is here so that code that catches it runs; what goes wrong raises errors of partwise, which
    say what it was.

    Parameters
    ----------
    code : int
        The number of the error in CRFsuite.

    Examples
    --------
    >>> from partwise.compat.pycrfsuite import CRFSuiteError
    >>> str(CRFSuiteError(1))
    'CRFsuite error 1'
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CRFsuite error {code}")
        self.code = code


def certificate_path(model: str | os.PathLike[str]) -> str:
    """Return the name of the file with the certificate of a model file."""
    return f"{os.fspath(model)}.certificate.json"


class BaseTrainer:
    """A data set and the parameters of training.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"} or None
        The training algorithm, see `select`; None is "lbfgs".
    params : dict or None
        Parameters of the algorithm, see `set_params`.
    verbose : bool
        Whether to print messages while training.

    Attributes
    ----------
    certificate : Certificate or None
        How far the objective of the last training is at most above the optimum; None before it,
        and for "ap", "pa" and "arow".

    Examples
    --------
    >>> from partwise.compat import pycrfsuite
    >>> trainer = pycrfsuite.BaseTrainer(verbose=False)
    >>> trainer.append([["the"], ["cat"]], ["DET", "NOUN"])
    >>> trainer.train("tags.crfsuite")
    >>> trainer.certificate.converged
    True
    """

    # Derived classes need not call the constructor, as in python-crfsuite.
    _instances: Instances
    _parameters: ParameterSet
    certificate: Certificate | None
    verbose: bool = True

    def __new__(cls, *args: Any, **more: Any) -> Self:
        made = super().__new__(cls)
        made._instances = Instances()
        made._parameters = ParameterSet("lbfgs")
        made.certificate = None
        return made

    def __init__(
        self,
        algorithm: str | None = None,
        params: Mapping[str, Any] | None = None,
        verbose: bool = True,
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def message(self, message: str) -> None:
        """Print a message of training, if `verbose` is true; to be overridden."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Append a sequence to the data.

        Parameters
        ----------
        xseq : ItemSequence or iterable
            The features of each token, see `ItemSequence`.
        yseq : sequence of str
            The label of each token.
        group : int
            The group of the sequence; `train` may hold out one of them.
        """
        self._instances.append(xseq, read_labels(yseq), int(group))

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the training algorithm; all parameters get their defaults.

        Parameters
        ----------
        algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}
            "lbfgs" and "l2sgd" minimise the objective of a conditional random field, with l1 and
            l2 or with l2 only, to a certified optimum. "ap" (averaged perceptron), "pa" (passive
            aggressive) and "arow" (adaptive regularisation of weights) are online algorithms
            without a certificate.
        type : {"crf1d"}
            The kind of model.
        """
        self._parameters = ParameterSet(find_algorithm(algorithm, type))

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on the data.

        Parameters
        ----------
        model : str or path
            The file that the model is written to, in CRFsuite's format. The certificate is written
            beside it. If it is empty, nothing is written.
        holdout : int
            The group that is not used for training, but scored after each iteration; -1 for none.
        """
        self._before_train()
        learned = learn(self._instances, self._parameters, int(holdout), self.message)
        self.certificate = learned.certificate
        began, log = time.perf_counter(), TrainingLog(self.message)
        log.storing(learned.counts)
        if model:
            write_crfsuite_model(model, learned.model)
            self._write_certificate(certificate_path(model))
        log.stored(time.perf_counter() - began)

    def _write_certificate(self, path: str) -> None:
        """Write the certificate, or remove the one of an earlier model."""
        if self.certificate is None:
            if os.path.exists(path):
                os.remove(path)
            return
        record = {
            "algorithm": self._parameters.algorithm,
            "parameters": self._parameters.values,
            "certificate": self.certificate.to_json(),
        }
        with replacing(path) as file:
            file.write(json.dumps(record, indent=2, sort_keys=True).encode() + b"\n")

    def params(self) -> list[str]:
        """Return the names of the parameters of the algorithm."""
        return list(self._parameters.values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters, given as a dict."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters with their values."""
        return dict(self._parameters.values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter of the algorithm."""
        self._parameters.set(name, value)

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self._parameters.get(name)

    def help(self, name: str) -> str:
        """Return the description of a parameter."""
        return self._parameters.find(name).help

    def clear(self) -> None:
        """Remove all sequences."""
        self._instances = Instances()

    def _before_train(self) -> None:
        """Prepare for messages; called before training."""


class Trainer(BaseTrainer):
    """A trainer that reads its own messages.

    Parameters are those of `BaseTrainer`. Derived classes may override the methods ``on_*``, which
    are called if `verbose` is true, and print what they get.

    Attributes
    ----------
    logparser : TrainLogParser or None
        What was read from the messages; None before the training.

    Examples
    --------
    >>> from partwise.compat import pycrfsuite
    >>> trainer = pycrfsuite.Trainer(verbose=False)
    >>> trainer.append([["the"], ["cat"]], ["DET", "NOUN"])
    >>> trainer.train("tags.crfsuite")
    >>> trainer.certificate.converged, trainer.logparser.featgen_num_features
    (True, 3)
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Read a message; if `verbose` is true, call the method of the event that it completes."""
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        log = parser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, parser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(log, parser.last_iteration)
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        """Print the first messages."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Print how far the features are made."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Print how many features there are."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Print the parameters."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Print that there is nothing to train on."""
        print(log, end="")

    def on_iteration(self, log: str, info: Any) -> None:
        """Print the results of an iteration; `info` is a dict of them."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Print why training stopped."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Print the last messages."""
        print(log, end="")
