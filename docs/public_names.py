"""The public names of the package, in the order of the reference.

The reference is made from them, and a test asks each of them for an example.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, Final, NamedTuple

__all__ = ["SECTIONS", "Section", "public_names"]


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


def _all_of(module: str) -> tuple[str, ...]:
    """Return the public names of a module that can be described one by one."""
    public: list[str] = import_module(module).__all__
    return tuple(f"{module}.{name}" for name in public if name not in ("__version__", "Callback"))


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
_FORMATS: Final = (
    "columns.read_columns", "columns.write_columns", "columns.write_tokens", "columns.Columns",
    "conllu.read_conllu", "conllu.write_conllu", "conllx.read_conllx", "conllx.write_conllx",
    "crfsuite.read_crfsuite", "crfsuite.write_crfsuite", "jsonl.read_jsonl", "jsonl.write_jsonl",
    "spans.read_spans", "spans.write_spans", "frames.read_frame", "frames.read_parquet",
    "frames.frame_columns", "conll.read_conll", "conll.write_conll", "conll.Sentence",
    "brackets.read_brackets", "brackets.write_brackets", "brackets.parse_tree", "tree.Tree",
    "svmlight.read_svmlight", "graph_text.read_graph_text", "graph_text.write_graph_text",
    "example_weights.read_example_weights", "validate.validate", "convert.convert",
)  # fmt: skip

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
    Section("Metrics", "In `partwise.metrics`.", _all_of("partwise.metrics")),
    Section(
        "Training",
        "In `partwise.training`: what a fit tells to its callbacks, and what may be asked of it.",
        _all_of("partwise.training"),
    ),
    Section(
        "Readers and writers of files",
        "In `partwise.formats`. What a reader returns can be fitted as it is.",
        tuple(f"partwise.formats.{name}" for name in _FORMATS),
    ),
    Section("Data sets", "In `partwise.datasets`.", _all_of("partwise.datasets")),
)

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
        "partwise.formats.faults.Faults", "partwise.plots.convergence_picture",
        "partwise.plots.path_picture", "partwise.testing.check_structure",
        "partwise.testing.check_law",
    ),
)  # fmt: skip


def public_names() -> dict[str, Any]:
    """Return the public objects by their names; each of them has an example."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return {name: public_object(name) for section in SECTIONS for name in section.names}
