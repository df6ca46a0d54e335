from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = '''
"""What 1 + 1 is."""
from partwise.jit import njit

__all__ = ["f"[0:]]
_WIDE = 2


@njit(fastmath={"contract"})
def f(a: "list[0]", n):
    """Add 1 + 1."""
    for k in range(n):
        if a[k] < 0:
            break
    return max(n, k)


def g(x: int = 5):
    if not x:
        raise ValueError(f"{x + 1} < 0" + "1")
    _logger.info(x + 1)
    y = 0.5 * x
    y += _WIDE
    return y
'''


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src" / "partwise").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src/partwise/thing.py").write_text(SOURCE, "utf-8")
    (tmp_path / "tests/test_thing.py").write_text("def test_a():\n    pass\n", "utf-8")
    (tmp_path / "tests/test_far.py").write_text("def test_c():\n    pass\n", "utf-8")
    near = (
        "from partwise.thing import f\n\n\ndef test_far():\n    pass\n\n\ndef test_b():\n    f()\n"
    )
    (tmp_path / "tests/test_near.py").write_text(near, "utf-8")
    return tmp_path


@pytest.mark.usefixtures("tools")
def test_what_can_be_changed() -> None:
    from mutation import Finder

    changes = {
        (mutant.function, mutant.kernel, mutant.before, mutant.after)
        for mutant in Finder("thing.py", SOURCE).mutants
    }
    assert changes == {
        ("<module>", False, "2", "(3)"),
        ("f", True, "k", "(k + 1)"),
        ("f", True, "k", "(k - 1)"),
        ("f", True, "a[k] < 0", "(a[k] <= 0)"),
        ("f", True, "0", "(1)"),
        ("f", True, "break", "continue"),
        ("f", True, "max", "(min)"),
        ("f", True, "return max(n, k)", "return 2 * (max(n, k))"),
        ("g", False, "5", "(6)"),
        ("g", False, "not x", "(x)"),
        ("g", False, "0.5 * x", "(0.5 / x)"),
        ("g", False, "0.5", "(1.0)"),
        ("g", False, "y += _WIDE", "pass"),
        ("g", False, "y += _WIDE", "y -= _WIDE"),
        ("g", False, "return y", "return None"),
    }


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("kernel", [True, False])
def test_a_seed_draws_the_same_and_every_draw_changes_the_code(kernel: bool, project: Path) -> None:
    from mutation import draw

    drawn = draw(project, 5, kernel, 3)
    assert drawn == draw(project, 5, kernel, 3)
    assert len(set(drawn)) == 5
    assert drawn != draw(project, 5, kernel, 4)
    for mutant in drawn:
        assert mutant.kernel == kernel
        assert ast.dump(ast.parse(mutant.apply(SOURCE))) != ast.dump(ast.parse(SOURCE))
        with pytest.raises(ValueError, match="not the file"):
            mutant.apply("")


@pytest.mark.usefixtures("tools")
def test_the_tests_of_a_part(project: Path) -> None:
    from reach import Reach

    part = Reach(project).part("src/partwise/thing.py", "f", 3)
    assert part == [["tests/test_thing.py::test_a"], ["tests/test_near.py::test_b"]]
