"""The pictures of README.md and of the front page: ``python tools/site_pictures.py`` draws them.

They are the convergence of a tagger and a path over l2, on text that the package makes.
"""

from __future__ import annotations

from pathlib import Path

from partwise import SequenceTagger, path
from partwise.datasets import tagged_text
from partwise.plots import convergence_picture, path_picture

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def main() -> None:
    """Draw both pictures into docs/pictures."""
    FOLDER.mkdir(exist_ok=True)
    train, dev = tagged_text(1000, seed=1), tagged_text(400, seed=2)
    tagger = SequenceTagger(l2=1.0, tol=1e-6).fit(train)
    convergence_picture(
        tagger.trace_, FOLDER / "convergence.png", "A tagger of 1,000 sentences", tol=1e-6
    )
    assert dev.labels is not None
    columns = zip(*(dev.split(field) for field in dev.fields), strict=True)
    tokens = [[list(token) for token in zip(*sentence, strict=True)] for sentence in columns]
    found = path(
        SequenceTagger(), train, dev=(tokens, dev.split(dev.labels)), l2_max=100.0, factor=0.5,
        steps=14,
    )  # fmt: skip
    path_picture(
        found.rows, FOLDER / "path.png", found.best.l2, "token accuracy",
        "The same tagger for 14 values of l2",
    )  # fmt: skip


if __name__ == "__main__":
    main()
