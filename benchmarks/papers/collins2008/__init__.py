"""The figures, tables and claims of Collins et al. 2008 (000).

Figures 4 to 11 and 14 show the same runs on MNIST in different axes, and Figures 12, 13 and 15
those on the Spanish trees. C of the paper is l2, and its effective iterations are passes.
"""

from __future__ import annotations

from ..figure import Figure
from .claims import claims
from .images import (
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_14,
)
from .tables import table_1, table_2, table_3
from .trees import figure_12, figure_13, figure_15

FIGURES: tuple[Figure, ...] = (
    Figure("000", "figure 4", "Validation error of EG for four values of C", figure_4),
    Figure("000", "figure 5", "Primal and dual objective of EG", figure_5),
    Figure("000", "figure 6", "The duality gap of EG", figure_6),
    Figure("000", "figure 7", "EG in random and in a fixed order", figure_7),
    Figure("000", "figure 8", "EG with C annealed to 1", figure_8),
    Figure("000", "figure 9", "Validation error of SGD and EG", figure_9),
    Figure("000", "figure 10", "Primal objective of SGD and EG", figure_10),
    Figure("000", "figure 11", "L-BFGS and EG", figure_11),
    Figure("000", "figure 12", "Dependency trees: EG, L-BFGS and SGD", figure_12),
    Figure("000", "figure 13", "Dependency trees, max-margin: EG and SVM-Struct", figure_13),
    Figure("000", "figure 14", "Running time on MNIST", figure_14),
    Figure("000", "figure 15", "Running time on dependency trees", figure_15),
    Figure("000", "table 1", "Bounds on the computation, and what it took", table_1),
    Figure("000", "table 2", "Passes for each C on MNIST", table_2),
    Figure("000", "table 3", "Passes for each C on dependency trees", table_3),
    Figure("000", "claims", "What the paper says in words", claims),
)
