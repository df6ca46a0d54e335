"""The task "graph": one label per vertex of graphs, from text files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError, Place
from ...formats.options import Option
from ..base import no_labels
from ..kernels.parameters import KernelTask
from ..labels import FIXED, known_label, missing_of
from ..predictions import Predictions, Ranked
from .trainer import GraphTrainer

if TYPE_CHECKING:
    from ...formats.graph_text import TextGraph
    from ...formats.registry import Chosen
    from ...models.model import Model
    from .features import GraphFeatures
    from .sources import GraphFileSource

__all__ = ["GraphTask"]

_WORDS = ("node", "edge", "vertex", "factor")


class GraphTask(KernelTask["GraphFileSource"]):
    """Labellers of the vertices of graphs."""

    name = "graph"
    trainer = "partwise.tasks.graph.trainer:GraphTrainer"
    kernel_trainer = "partwise.tasks.graph.kernel:KernelGraphLabeler"
    declares = GraphTrainer
    features = "graphs"
    format = "graphs"
    summary = "one label per vertex of a graph"
    example = "maps.graphs --model maps.model --symmetric"
    reads = (
        "reads graphs: a line `node NAME LABEL FEATURE ...` per vertex, a line `edge NAME NAME "
        "FEATURE ...` per edge, a blank line after each graph; a feature is NAME or NAME:VALUE, "
        "and the label ? is not known"
    )
    writes = (
        "writes the file with the predicted labels in it and all else as it was; with --marginals, "
        'below each vertex a comment "# p NAME LABEL:0.993 ..." with the probability of every '
        'label; with --k N, each graph up to N times, best first, each below a comment "# k=1 '
        'score=..." (and "probability=..." with --marginals)'
    )
    comparison = "tasks.graph.comparison:VertexComparison"
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "predict": (FIXED,),
    }

    def resemblance(self, lines: Sequence[str]) -> int:
        words = [line.split()[0] for line in lines if not line.lstrip().startswith("#")]
        return 2 if words and all(word in _WORDS for word in words) else 0

    def read(
        self, path: str, given: Mapping[str, Any], like: GraphFileSource | None = None
    ) -> GraphFileSource:
        from .sources import GraphFileSource

        featured = None if like is None else set(like.featured)
        missing = given["missing"]
        file = self.reader(given["format"])(path, labelled=missing is None, featured=featured)
        if like is not None:
            file.check_kinds(like.file.kinds)
        return GraphFileSource.read(file, file.featured if featured is None else featured, missing)

    def read_part(
        self, path: str, given: Mapping[str, Any], first: GraphFileSource | None
    ) -> GraphFileSource:
        from .sources import GraphFileSource

        missing = given["missing"]
        file = self.reader(given["format"])(path, labelled=missing is None, part=True)
        return GraphFileSource.read(file, file.featured, missing)

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> GraphFileSource:
        from .sources import GraphFileSource

        features = _features(model)
        file = self.reader(format)(
            path, labelled=False, empty=not labelled, featured=features.featured
        )
        file.check_kinds({kind: held.domains for kind, held in features.kinds.items()})
        missing = missing_of(model)
        source = GraphFileSource.read(file, features.featured, missing if labelled else None)
        labels = [label for some in source.labels for label in some]
        if labelled and not any(labels):
            raise no_labels(file.path, len(file), "after the name of each vertex")
        if labelled and missing is None and None in labels:
            # The reader says where.
            self.reader(format)(path, labelled=True, featured=features.featured)
        return source

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Any:
        from ...formats.graph_file import GraphFile
        from .features import GraphFeatures
        from .sources import GraphFileSource, Graphs

        self.refuse_others(more)
        if not isinstance(X, GraphFile):
            if y is None:
                raise DataError("no labels to compare with; give y, one list of labels per graph")
            return Graphs.of(X, y, missing_of(model))
        if y is not None:
            raise DataError("a file that was read has labels of its own; leave y out")
        assert isinstance(model.features, GraphFeatures)
        return GraphFileSource.read(X, model.features.featured, missing_of(model))

    def predict(
        self,
        model: Model,
        source: GraphFileSource,
        *,
        k: int | None,
        marginals: bool,
        n_jobs: int | None,
        fixed: str | None = None,
    ) -> Predictions:
        from ..labels import spelled

        features = _features(model)
        how: dict[str, Any] = {"n_jobs": n_jobs}
        if fixed is not None:
            how["fixed"] = _known(features, source, fixed)
        if k:
            found = model.candidates(source, k, probabilities=marginals, **how)
            graphs = source.file.graphs
            return Ranked(
                found, marginals, "labels",
                lambda i, label: [*graphs[i].written(spelled(label)), ""],
            )  # fmt: skip
        labels = [spelled(some) for some in model.predict(source, **how)]
        names = {domain: spelled(held) for domain, held in features.labels.items()}
        tables = None
        if marginals:
            found_tables = model.marginals(source, **how)
            tables = [[row.tolist() for row in table] for table in found_tables]
        return _Labelled(source.file.graphs, names, labels, tables)


def _features(model: Model) -> GraphFeatures:
    """Return the features of a model; raise a DataError if they have no names."""
    from .features import GraphFeatures

    features = model.features
    assert isinstance(features, GraphFeatures)
    for kind, held in features.kinds.items():
        if held.n_inputs is not None and held.vocabulary is None:
            raise DataError(
                f"the model was trained on matrices, so its features of the kind {kind!r} have no "
                "names and files cannot be given to it; use it from Python, with "
                "partwise.load_model"
            )
    return features


def _known(features: GraphFeatures, source: GraphFileSource, mark: str) -> list[list[Any]]:
    """Return the labels that a file has, None where it has none or a mark."""
    from ..labels import spelled

    names = {
        domain: dict(zip(spelled(held), held, strict=True))
        for domain, held in features.labels.items()
    }
    return [
        [
            None
            if label in (None, mark)
            else known_label(names.get(domain, {}), label, Place(source.path, line), mark)
            for domain, label, line in zip(graph.domains, graph.labels, graph.lines, strict=True)
        ]
        for graph in source.file.graphs
    ]


@dataclass(frozen=True, eq=False)
class _Labelled(Predictions):
    """The best labels of every graph, and perhaps the probabilities of all labels.

    Attributes
    ----------
    graphs
        The graphs of the file.
    names
        The labels of each domain.
    labels
        The labels of the vertices of each graph.
    tables
        For each graph and vertex the probability of every label of its domain.
    """

    graphs: list[TextGraph]
    names: Mapping[str, list[str]]
    labels: list[list[str]]
    tables: list[list[list[float]]] | None

    def write(self, path: str) -> None:
        from ...formats.source import writing

        with writing(path) as stream:
            for number, (graph, labels) in enumerate(zip(self.graphs, self.labels, strict=True)):
                beside = None
                if self.tables is not None:
                    beside = self._comments(graph, self.tables[number])
                stream.writelines(f"{line}\n" for line in graph.written(labels, beside))
                stream.write("\n")

    def _comments(self, graph: TextGraph, table: list[list[float]]) -> list[str]:
        return [
            " ".join(
                ["p", name, *(f"{label}:{p:.6f}" for label, p in zip(known, row, strict=True))]
            )
            for name, known, row in zip(
                graph.names, (self.names[domain] for domain in graph.domains), table, strict=True
            )
        ]

    def record(self) -> dict[str, Any]:
        one = next(iter(self.names.values()))
        found: dict[str, Any] = {
            "labels": one if len(self.names) == 1 else dict(self.names),
            "vertices": [graph.names for graph in self.graphs],
            "predictions": self.labels,
        }
        if self.tables is not None:
            found["marginals"] = self.tables
        return found
