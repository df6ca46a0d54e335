"""The public names of the package, in the order of the reference.

The reference is made from them, and a test asks each of them for an example.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NamedTuple

__all__ = ["APART", "FURTHER", "SECTIONS", "Section", "public_names", "public_object"]


class Section(NamedTuple):
    """A part of the reference.

    Attributes
    ----------
    title : str
        Its heading.
    text : str
        What there is to say before the table.
    names : tuple of str
        The names, with their modules.
    """

    title: str
    text: str
    names: tuple[str, ...]


#: Public names that are described in a sentence where they are needed: constants, an alias of a
#: type, and a module whose functions are listed one by one.
APART: Final = (
    "partwise.__version__", "partwise.training.Callback", "partwise.pictures.STYLE",
    "partwise.compat.pycrfsuite.CRFSUITE_VERSION", "partwise.compat.sklearn_crfsuite.metrics",
)  # fmt: skip


def _all_of(module: str) -> tuple[str, ...]:
    """Return the public names of a module that can be described one by one."""
    public = (f"{module}.{name}" for name in import_module(module).__all__)
    return tuple(name for name in public if name not in APART)


_OWN: Final = _all_of("partwise")


def public_object(name: str) -> Any:
    """Return the object of a name with its module."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def _is_warning(name: str) -> bool:
    found = public_object(name)
    return isinstance(found, type) and issubclass(found, (Exception, Warning))


_ESTIMATORS: Final = tuple(name for name in _OWN if hasattr(public_object(name), "get_params"))
_TROUBLE: Final = tuple(name for name in _OWN if _is_warning(name))

SECTIONS: Final = (
    Section(
        "Estimators",
        "They have the interface of scikit-learn. Those that end in CV choose `l2` themselves.",
        _ESTIMATORS,
    ),
    Section(
        "Models, paths and templates",
        "What estimators are made into, and what they are given.",
        tuple(name for name in _OWN if name not in _ESTIMATORS + _TROUBLE),
    ),
    Section("Errors and warnings", "All errors derive from `PartwiseError`.", _TROUBLE),
    Section(
        "Metrics",
        "In `partwise.metrics`.",
        (
            *_all_of("partwise.metrics"), "partwise.metrics.bootstrap.bootstrap_ratios",
            "partwise.metrics.calibration.calibration",
        ),
    ),
    Section(
        "Training",
        "In `partwise.training`: what a fit tells to its callbacks, and what may be asked of it.",
        (
            *_all_of("partwise.training"), "partwise.training.path.train_path",
            "partwise.training.path.best_of_runs",
        ),
    ),
    Section(
        "Readers and writers of files",
        "In `partwise.formats`. What a reader returns can be fitted as it is.",
        _all_of("partwise.formats"),
    ),
    Section("Data sets", "In `partwise.datasets`.", _all_of("partwise.datasets")),
    Section(
        "Explanations",
        "In `partwise.explain`. The method `explain` of a model or an estimator makes them, and "
        "`explain_weights` returns a table of weights.",
        _all_of("partwise.explain"),
    ),
    Section(
        "Reports",
        "In `partwise.report`: one page about a model, and a model card.",
        _all_of("partwise.report"),
    ),
    Section(
        "Drawings of labels",
        "In `partwise.pictures`: SVG and HTML, without any further package. `STYLE` is the style "
        "sheet that a page with drawings holds once.",
        _all_of("partwise.pictures"),
    ),
    Section(
        "Plots",
        "In `partwise.plots`. They need matplotlib: `pip install \"partwise[plots]\"`.",
        _all_of("partwise.plots"),
    ),
    Section(
        "A server of models",
        "In `partwise.serve`, which `partwise serve` runs. It needs h11: "
        "`pip install \"partwise[serve]\"`.",
        _all_of("partwise.serve"),
    ),
    Section(
        "Training on a cluster",
        "In `partwise.dask`. It needs Dask: `pip install \"partwise[dask]\"`.",
        _all_of("partwise.dask"),
    ),
    Section(
        "The interface of sklearn-crfsuite",
        "`from partwise.compat import sklearn_crfsuite` in place of `import sklearn_crfsuite`.",
        _all_of("partwise.compat.sklearn_crfsuite")
        + _all_of("partwise.compat.sklearn_crfsuite.metrics"),
    ),
    Section(
        "The interface of python-crfsuite",
        "`from partwise.compat import pycrfsuite` in place of `import pycrfsuite`. "
        "`CRFSUITE_VERSION` is the version of CRFsuite whose files and parameters these are.",
        _all_of("partwise.compat.pycrfsuite"),
    ),
    Section(
        "The command, from Python",
        "`main` runs `partwise`, and a task reads the files of its models.",
        ("partwise.cli.main", "partwise.tasks.registry.task_of"),
    ),
    Section(
        "Structures and formats of your own",
        "In `partwise.problem`, `partwise.testing` and the modules that are named here.",
        (
            *_all_of("partwise.problem"), *_all_of("partwise.testing"),
            "partwise.models.fit.fit_model", "partwise.models.numbered.NumberedFeatures",
            "partwise.models.foreign.base.ModelFormat",
        ),
    ),
)  # fmt: skip

#: Names that the public ones speak of, and that users rarely write themselves.
FURTHER: Final = Section(
    "Further names",
    "What the names above return or take.",
    (
        "partwise.models.model.Model", "partwise.training.certificate.Certificate",
        "partwise.tasks.spans.ProbableSpan", "partwise.models.vocabulary.fit_rows",
        "partwise.tasks.sequences.constraints.make_constraints",
        "partwise.structures.dependency.arcs.ArcConstraints",
        "partwise.tasks.constituency.normal_form.NormalForm",
        "partwise.formats.faults.Faults",
    ),
)  # fmt: skip


def public_names() -> tuple[str, ...]:
    """Return the public names; each of them has an example."""
    return tuple(name for section in SECTIONS for name in section.names)
