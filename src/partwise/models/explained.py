"""The methods of a model that say why it predicts what it predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..arrays import Ints
from ..registry import imported

if TYPE_CHECKING:
    from ..explain.explanation import Explanations
    from ..explain.weights import WeightTable

__all__ = ["Explained"]


class Explained:
    """Base class of models, with explanations.

    They are made by the package `partwise.explain`, which is above this one and is imported when a
    method is called.
    """

    def explain(
        self,
        examples: Any,
        shapes: Sequence[Any] | Ints | None = None,
        *,
        fixed: Any = None,
        own_constraints: Sequence[Any] | None = None,
        runners_up: bool = True,
        supports: int = 10,
        feature_names: Sequence[str] | None = None,
        **more: Any,
    ) -> Explanations:
        """Explain predictions: which features spoke for the labels, and which against them.

        Parameters
        ----------
        examples, shapes, fixed, own_constraints, **more
            As in `predict`.
        runners_up : bool
            Whether to look for the best other label at every part of a prediction. That takes one
            search per part; without it there are no margins.
        supports : int
            For kernel models, how many supporting positions are named for each label of a position.
        feature_names : sequence of str or None
            The names of the columns, if the features of the model only have numbers; otherwise they
            are called x0, x1, ...

        Returns
        -------
        Explanations
            A list with one `partwise.explain.Explanation` per example. The contributions of
            its parts add up to the score of the prediction.

        Examples
        --------
        >>> from partwise import SequenceTagger
        >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
        >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
        >>> part = tagger.model_.explain(X[:1])[0].parts[0]
        >>> part.label, part.contributions[0].feature, part.runner_up.label
        ('DET', 'word=the', 'NOUN')
        """
        explain: Callable[..., Explanations] = imported("explain.explainer:explain_examples")
        return explain(
            self, examples, shapes=shapes, fixed=fixed, own_constraints=own_constraints,
            runners_up=runners_up, supports=supports, feature_names=feature_names, **more,
        )  # fmt: skip

    def explain_weights(
        self,
        top: int | None = 20,
        *,
        label: Any = None,
        feature: str | None = None,
        transitions: bool = False,
        feature_names: Sequence[str] | None = None,
        as_frame: bool = False,
    ) -> Any:
        """Return the largest weights as a table.

        Parameters
        ----------
        top : int or None
            How many weights, the largest ones, whatever their sign; None returns all that are
            not 0.
        label : str or None
            Only weights for this label; those of transitions and rules if they hold it.
        feature : str or None
            A regular expression: only weights of features in whose names it is found.
        transitions : bool
            Whether to return only weights that join labels: transitions, first and last labels,
            rules of a grammar, factors of several vertices.
        feature_names : sequence of str or None
            As in `explain`.
        as_frame : bool
            Whether to return a pandas DataFrame.

        Returns
        -------
        WeightTable or DataFrame
            A sequence of `partwise.explain.WeightRow`, which notebooks show as a table; or a
            DataFrame with the columns feature, label, weight, count and kind.

        Examples
        --------
        >>> from partwise import SequenceTagger
        >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
        >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
        >>> row = tagger.model_.explain_weights(top=1, label="DET", feature="^word=")[0]
        >>> row.feature, row.label, row.weight > 0, row.count
        ('word=the', 'DET', True, 2)
        """
        weight_table: Callable[..., WeightTable] = imported("explain.weights:weight_table")
        found = weight_table(
            self, top, label=label, feature=feature, transitions=transitions,
            feature_names=feature_names,
        )  # fmt: skip
        return found.to_frame() if as_frame else found
