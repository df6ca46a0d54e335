"""The forms of EG that four papers describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ..options import Preset
from .base import Annealing

#: Section 7: every step is halved until the dual improves, then multiplied by 1.05.
_SEARCH: Final = {"start": 0.0, "first_step": 0.5, "halvings": "any"}
#: Their footnote 9, by the code of Collins et al.; untied chains are theirs.
_OEG: Final = {"first_step": 0.5, "halvings": "few", "eta": "search"}

#: Bartlett et al. leave eta to the user; their eta is eta / l2 here.
_BARTLETT: Final = "the eta of 1 of its Figure 4 (b), for C = l2 = 1."

BATCH: Final[Mapping[str, Preset]] = {
    "bartlett2004-figure2": Preset(
        f"Figure 2 of Bartlett et al. (2004): from uniform distributions, with {_BARTLETT}",
        {"start": 0.0, "eta": 1.0},
    ),
    "collins2008-figure1": Preset(
        "Figure 1 of Collins et al. (2008): from uniform distributions, with the longest fixed "
        "step of Theorem 1.",
        {"start": 0.0, "eta": "theorem"},
    ),
}
PRIMAL: Final[Mapping[str, Preset]] = {
    "bartlett2004-primal": Preset(
        f"The primal form of Bartlett et al. (2004), section 3: from z = 0, with {_BARTLETT}",
        {"gold": 0.0, "eta": 1.0},
    )
}
ONLINE: Final[Mapping[str, Preset]] = {
    "bartlett2004-online": Preset(
        "The online form of Bartlett et al. (2004), footnote 1: in the order of the data, from "
        f"uniform distributions, with {_BARTLETT}",
        {"start": 0.0, "order": "deterministic", "eta": 1.0},
    ),
    "collins2008-figure2": Preset(
        "Figures 2 and 3 of Collins et al. (2008): draws with replacement, from uniform "
        "distributions, with the longest fixed step of Theorem 2.",
        {"start": 0.0, "order": "replacement", "eta": "theorem"},
    ),
    "collins2008-mnist": Preset(
        "Section 7.1 of Collins et al. (2008): draws with replacement, every step halved until the "
        "dual improves, then multiplied by 1.05; 0.5 at first.",
        {**_SEARCH, "order": "replacement"},
    ),
    "collins2008-permutation": Preset(
        "The same with a new permutation in each epoch, which is near the counts of Table 2.",
        {**_SEARCH, "order": "permutation"},
    ),
    "collins2008-deterministic": Preset(
        "The same in the order of the data: the deterministic form of section 3 and Figure 7.",
        {**_SEARCH, "order": "deterministic"},
    ),
    "collins2008-annealing": Preset(
        "Section 7.1.1 of Collins et al. (2008), for an l2 of 1: 10 in the first five epochs, then "
        "1 + 9 0.7^(t - 5).",
        {**_SEARCH, "order": "replacement", "annealing": Annealing(10.0, hold=5, factor=0.7)},
    ),
    "collins2008-parsing": Preset(
        "Sections 7.2 and 8 of Collins et al. (2008): as in section 7.1, but the first step is "
        "found by trial on a tenth of the examples.",
        {**_SEARCH, "order": "replacement", "first_step": "trial"},
    ),
    "schmidt2015-oeg": Preset(
        "OEG of Schmidt et al. (2015), footnote 9: a permutation in the first pass and draws with "
        "replacement after it, from a theta of 3 on the parts of the gold labels.",
        {**_OEG, "start": 3.0, "order": "permutation-then-draws"},
    ),
    "schmidt2015-oeg-norp": Preset(
        "OEG-noRP of their appendix D: the same without the permutation.",
        {**_OEG, "start": 3.0, "order": "replacement"},
    ),
    "schmidt2015-oeg-10": Preset(
        "OEG-10 of their appendix D: as OEG, from a theta of 10.",
        {**_OEG, "start": 10.0, "order": "permutation-then-draws"},
    ),
    "yu2011-algorithm8": Preset(
        "Algorithm 8 of Yu, Huang and Lin (2011), with a maxTrial of 10, which they leave to the "
        "user; every label but the gold one starts with 1e-10 of it, as in (51).",
        {**_SEARCH, "start": 10.0 * math.log(10.0), "order": "replacement", "halvings": 10},
    ),
}
