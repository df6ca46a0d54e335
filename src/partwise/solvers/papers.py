"""The papers that the solvers come from; each solver names its own in `Solver.papers`."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["Paper"]


class Paper(NamedTuple):
    """A publication.

    Attributes
    ----------
    citation : str
        Authors and year, as they are cited in a sentence.
    title : str
        The title.
    place : str
        The journal or the conference.
    """

    citation: str
    title: str
    place: str

    def __str__(self) -> str:
        """Return the whole reference."""
        return f"{self.citation}, {self.title}, {self.place}"


ANDREW_2007: Final = Paper(
    "Andrew and Gao 2007", "Scalable training of L1-regularized log-linear models", "ICML"
)
BARTLETT_2004: Final = Paper(
    "Bartlett et al. 2004",
    "Exponentiated gradient algorithms for large-margin structured classification",
    "NIPS 17",
)
COLLINS_2008: Final = Paper(
    "Collins et al. 2008",
    "Exponentiated gradient algorithms for conditional random fields and max-margin Markov "
    "networks",
    "JMLR 9",
)
CRAMMER_2001: Final = Paper(
    "Crammer and Singer 2001",
    "On the algorithmic implementation of multiclass kernel-based vector machines",
    "JMLR 2",
)
DEFAZIO_2014: Final = Paper(
    "Defazio et al. 2014",
    "SAGA: a fast incremental gradient method with support for non-strongly convex composite "
    "objectives",
    "NIPS 27",
)
DUCHI_2011: Final = Paper(
    "Duchi et al. 2011",
    "Adaptive subgradient methods for online learning and stochastic optimization",
    "JMLR 12",
)
FRIEDLANDER_2012: Final = Paper(
    "Friedlander and Schmidt 2012",
    "Hybrid deterministic-stochastic methods for data fitting",
    "SIAM Journal on Scientific Computing 34",
)
HUANG_2010: Final = Paper(
    "Huang et al. 2010",
    "Iterative scaling and coordinate descent methods for maximum entropy models",
    "JMLR 11",
)
JOACHIMS_2009: Final = Paper(
    "Joachims et al. 2009", "Cutting-plane training of structural SVMs", "Machine Learning 77"
)
JOHNSON_2013: Final = Paper(
    "Johnson and Zhang 2013",
    "Accelerating stochastic gradient descent using predictive variance reduction",
    "NIPS 26",
)
KEERTHI_2008: Final = Paper(
    "Keerthi et al. 2008",
    "A sequential dual method for large scale multi-class linear SVMs",
    "KDD",
)
LACOSTE_JULIEN_2013: Final = Paper(
    "Lacoste-Julien et al. 2013",
    "Block-coordinate Frank-Wolfe optimization for structural SVMs",
    "ICML",
)
LE_PRIOL_2018: Final = Paper(
    "Le Priol et al. 2018",
    "Adaptive stochastic dual coordinate ascent for conditional random fields",
    "UAI",
)
LIN_2008: Final = Paper(
    "Lin et al. 2008",
    "Trust region Newton method for large-scale logistic regression",
    "JMLR 9",
)
LIU_1989: Final = Paper(
    "Liu and Nocedal 1989",
    "On the limited memory BFGS method for large scale optimization",
    "Mathematical Programming 45",
)
MA_2015: Final = Paper(
    "Ma et al. 2015", "Adding vs. averaging in distributed primal-dual optimization", "ICML"
)
OSOKIN_2016: Final = Paper(
    "Osokin et al. 2016",
    "Minding the gaps for block Frank-Wolfe optimization of structured SVMs",
    "ICML",
)
POLAK_1969: Final = Paper(
    "Polak and Ribiere 1969",
    "Note sur la convergence de méthodes de directions conjuguées",
    "RIRO 3",
)
ROCKAFELLAR_1976: Final = Paper(
    "Rockafellar 1976",
    "Monotone operators and the proximal point algorithm",
    "SIAM Journal on Control and Optimization 14",
)
SCHMIDT_2013: Final = Paper(
    "Schmidt et al. 2013",
    "Minimizing finite sums with the stochastic average gradient",
    "arXiv 1309.2388",
)
SCHMIDT_2015: Final = Paper(
    "Schmidt et al. 2015",
    "Non-uniform stochastic average gradient method for training conditional random fields",
    "AISTATS",
)
SHALEV_SHWARTZ_2011: Final = Paper(
    "Shalev-Shwartz et al. 2011",
    "Pegasos: primal estimated sub-gradient solver for SVM",
    "Mathematical Programming 127",
)
SHALEV_SHWARTZ_2013: Final = Paper(
    "Shalev-Shwartz and Zhang 2013",
    "Stochastic dual coordinate ascent methods for regularized loss minimization",
    "JMLR 14",
)
TASKAR_2004: Final = Paper("Taskar et al. 2004", "Max-margin Markov networks", "NIPS 16")
TASKAR_2006: Final = Paper(
    "Taskar et al. 2006",
    "Structured prediction, dual extragradient and Bregman projections",
    "JMLR 7",
)
TEO_2010: Final = Paper(
    "Teo et al. 2010", "Bundle methods for regularized risk minimization", "JMLR 11"
)
TOMIOKA_2011: Final = Paper(
    "Tomioka et al. 2011",
    "Super-linear convergence of dual augmented Lagrangian algorithm for sparsity regularized "
    "estimation",
    "JMLR 12",
)
TSOCHANTARIDIS_2005: Final = Paper(
    "Tsochantaridis et al. 2005",
    "Large margin methods for structured and interdependent output variables",
    "JMLR 6",
)
VISHWANATHAN_2006: Final = Paper(
    "Vishwanathan et al. 2006",
    "Accelerated training of conditional random fields with stochastic gradient methods",
    "ICML",
)
XU_2010: Final = Paper(
    "Xu 2010",
    "Towards optimal one pass large scale learning with averaged stochastic gradient descent",
    "arXiv 1107.2490",
)
YU_2011: Final = Paper(
    "Yu, Huang and Lin 2011",
    "Dual coordinate descent methods for logistic regression and maximum entropy models",
    "Machine Learning 85",
)
ZHANG_2011: Final = Paper(
    "Zhang et al. 2011",
    "Accelerated training of max-margin Markov networks with kernels",
    "ALT",
)
