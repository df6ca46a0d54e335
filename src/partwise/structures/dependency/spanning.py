"""Non-projective dependency trees: any tree over the words that hangs from the root.

Parts and labels are those of ``arcs.py``. The compiled sums over trees are in
``spanning_oracles.py``, the search for the best tree and the drawing in ``spanning_search.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from .arcs import ArcStructure
from .elimination import room
from .spanning_oracles import spanning_marginals
from .spanning_search import spanning_maximum, spanning_sample


@final
class SpanningTree(ArcStructure):
    """Trees whose arcs may cross.

    Parameters
    ----------
    n_labels : int
        How many labels an arc can have; 1 for arcs without labels.
    single_root : bool
        Whether exactly one word hangs from the root; otherwise at least one does.

    Notes
    -----
    Finite scores beyond 2**38 in size give a log partition of nan, as nan would.
    """

    name: ClassVar[str] = "spanning-tree"
    marginals: ClassVar[Any] = spanning_marginals
    maximum: ClassVar[Any] = spanning_maximum

    def work_size(self, topo: Ints) -> int:
        """Count the graph, q, the exponentials of a word and the halves, each with exponents."""
        length = int(topo[0])
        return 2 * (length * (2 * length + 3) + 2 + length * self.n_labels + room(length))

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Draw the heads word by word, each given those before it."""
        theta = self._drawable(theta, topo)
        return list(spanning_sample(self.spec, topo, theta, rng.random((size, 2, int(topo[0])))))
