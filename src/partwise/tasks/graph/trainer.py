"""What trains labellers of the vertices of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError
from ...models.training_examples import check_weights
from ..prepared import Prepared
from ..trainer import Trainer
from .features import GraphFeatures, fit_features
from .labels import (
    allowed_labels,
    label_numbers,
    named_joint,
    numbered_joint,
    read_domains,
    refuse_partial,
)
from .parameters import GraphParameters
from .sources import Graphs

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["GraphTrainer", "label_names"]


class GraphTrainer(GraphParameters, Trainer):
    """Trains labellers of the vertices of graphs."""

    task: ClassVar[str] = "label-graph"

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        features, structure = model.features, model.structure
        if not isinstance(features, GraphFeatures) or structure.name != "graph":
            raise DataError(
                f"the model of the task {model.task!r} does not label the vertices of graphs that "
                "it reads itself; use it as it is"
            )
        kernel = any(held.support is not None for held in features.kinds.values())
        if kernel and not hasattr(cls, "kernel"):
            raise DataError("the model has a kernel; use KernelGraphLabeler.from_model")
        several = [held for held in features.kinds.values() if len(held.domains) > 1]
        return {
            "domains": dict(features.labels),
            "symmetric": any(held.symmetric for held in several),
            "constant": all(held.constant for held in several),
            "forbidden": named_joint(model.constraints, features),
            "max_megabytes": structure.constants()["max_megabytes"],
            "hashing": max((held.n_hashed for held in features.kinds.values()), default=0) or None,
        }

    def _streamed(self, initial: Model | None) -> Preparation:
        from .streamed import StreamedGraphs

        return StreamedGraphs(self)

    def _prepare(self, source: Graphs, sample_weight: Any, initial: Model | None) -> Prepared:
        graphs = source.graphs
        if not graphs:
            raise DataError("there are no graphs to train on; give at least one")
        if self.loss != "log":
            refuse_partial(source.labels, self.loss)
        domains = read_domains(self.domains, graphs, source.labels)
        features, rows = fit_features(
            graphs,
            domains,
            constant=bool(self.constant),
            symmetric=bool(self.symmetric),
            n_hashed=self.hashing or 0,
        )
        structure = features.structure(self.max_megabytes)
        names = label_names(domains, structure.n_labels)
        allowed = allowed_labels(source.labels, graphs, domains)
        return Prepared(
            structure,
            lambda: rows,
            features.shapes(graphs),
            label_numbers(source.labels, graphs, domains),
            features,
            names,
            constraints=numbered_joint(self.forbidden, features),
            allowed=allowed,
            weight=check_weights(sample_weight, len(graphs)),
            key=domains if allowed is None else (domains, allowed),
        )


def label_names(domains: Mapping[str, tuple[Any, ...]], n_labels: int) -> tuple[Any, ...]:
    """Return the labels that a model names: those of the only domain, or numbers."""
    names = next(iter(domains.values()))
    if len(domains) > 1 or not isinstance(names[0], (str, int, float)):
        # A number has one name per domain, or a name of a type that models do not know: only the
        # features can tell it.
        return tuple(range(n_labels))
    return names
