"""Files with the weights of examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from partwise.errors import DataError
from partwise.formats.example_weights import read_example_weights


def test_one_number_per_line(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_text("1\n0\n 2.5e-1 \n\n", "utf-8")
    assert read_example_weights(file, 3).tolist() == [1.0, 0.0, 0.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", ":2: the weight 'x' is not a finite number from 0"),
        ("1\n-1\n", ":2: the weight '-1' is not"),
        ("nan\n1\n", ":1: the weight 'nan' is not"),
        ("1\ninf\n", ":2: the weight 'inf' is not"),
        ("1 1\n1\n", ":1: the weight '1 1' is not"),
        ("\n1\n", ":1: the weight '' is not"),
        ("1\n", ": 1 weights where a.txt has 2 examples"),
        ("", ": 0 weights where a.txt has 2 examples"),
        ("1\n1\n1\n", ": 3 weights where a.txt has 2 examples"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "weights"
    file.write_text(text, "utf-8")
    with pytest.raises(DataError) as caught:
        read_example_weights(file, 2, "a.txt")
    assert f"{file}{message}" in str(caught.value)
