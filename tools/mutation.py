"""Small changes to a source, found in its syntax tree: what `mutants.py` draws from."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
_EXTREMES: Final = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
}
_LOGGERS: Final = frozenset({"_logger", "logger", "logging"})


@dataclass(frozen=True)
class Mutant:
    """One change: the characters from `start` to `end` of a file become `after`."""

    file: str
    function: str
    line: int
    kernel: bool
    kind: str
    start: int
    end: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """Its place and its change, in one line."""
        change = f"{' '.join(self.before.split())} -> {' '.join(self.after.split())}"
        return f"{self.file}:{self.line} [{self.kind}] {change}"

    def apply(self, text: str) -> str:
        """Return the changed text of the file."""
        if text[self.start : self.end] != self.before:
            raise ValueError(f"{self.file} is not the file that this mutant was drawn from")
        return text[: self.start] + self.after + text[self.end :]


class Finder(ast.NodeVisitor):
    """Lists the mutants of one file, and the lines inside and outside of compiled functions.

    What no test should look at is left out: docstrings and other strings, annotations, decorators,
    ``__all__``, errors that are raised, calls of a logger, type-checking blocks.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.mutants: list[Mutant] = []
        self.lines: dict[bool, set[int]] = {False: set(), True: set()}
        self._function: list[str] = []
        self._kernel = False
        self._bound: set[str] = set()
        self._whole = False
        lines = text.splitlines(keepends=True)
        self._raw = [line.encode() for line in lines]
        self._begins = [0]
        for line in lines:
            self._begins.append(self._begins[-1] + len(line))
        self.visit(ast.parse(text))

    def _offset(self, line: int, column: int) -> int:
        # ast counts columns in bytes.
        return self._begins[line - 1] + len(self._raw[line - 1][:column].decode())

    def _add(self, kind: str, node: ast.expr | ast.stmt, after: ast.AST | str) -> None:
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
        new = after if isinstance(after, str) else ast.unparse(after)
        if isinstance(node, ast.expr):
            new = f"({new})"
        self.mutants.append(
            Mutant(
                self.file,
                ".".join(self._function) or "<module>",
                node.lineno,
                self._kernel,
                kind,
                start,
                end,
                self.text[start:end],
                new,
            )
        )

    def visit(self, node: ast.AST) -> None:
        """Visit a node, and count its line if it is a statement."""
        if isinstance(node, ast.stmt) and not _is_text(node):
            self.lines[self._kernel].add(node.lineno)
        super().visit(node)

    # What is entered, and what is left out.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Enter a function, which is compiled if `njit` or `cfunc` decorates it."""
        if any(_name(decorator) == "overload" for decorator in node.decorator_list):
            return
        outer = self._kernel, self._bound
        compiled = any(_name(decorator) in ("njit", "cfunc") for decorator in node.decorator_list)
        self._kernel = self._kernel or compiled
        named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self._bound = {argument.arg for argument in named}
        self._function.append(node.name)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self._function.pop()
        self._kernel, self._bound = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Enter a class."""
        self._function.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._function.pop()

    def visit_If(self, node: ast.If) -> None:
        """Enter a branch, unless it is for type checkers."""
        if _name(node.test) == "TYPE_CHECKING":
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """Enter a loop."""
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Enter a conditional expression."""
        self._condition(node.test)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave errors unchanged."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave messages unchanged."""

    def visit_Global(self, node: ast.Global) -> None:
        """Change nothing."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Enter the value, not the annotation."""
        if node.value is not None:
            self._assigned([node.target], node)
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Delete a call, unless it logs."""
        if isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Attribute) and _name(function.value) in _LOGGERS:
                return
            if self._function:
                self._add("deleted call", node, "pass")
        if not _is_text(node):
            self.generic_visit(node)

    # What is changed.

    def _condition(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Compare | ast.BoolOp) and not _is_not(test):
            self._add("condition", test, ast.UnaryOp(ast.Not(), test))

    def visit_Compare(self, node: ast.Compare) -> None:
        """Shift or turn a comparison."""
        for place, operator in enumerate(node.ops):
            if type(operator) in _COMPARISONS:
                changed = copy.deepcopy(node)
                changed.ops[place] = _COMPARISONS[type(operator)]()
                self._add("comparison", node, changed)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange `and` with `or`."""
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add("boolean", node, ast.BoolOp(other, node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop a `not` or a sign."""
        if isinstance(node.op, ast.Not):
            self._add("boolean", node, node.operand)
        elif isinstance(node.op, ast.USub):
            self._add("sign", node, node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Exchange two operators of arithmetic."""
        # Strings that are added and lists times a number have no other operator.
        plain = not any(_is_sequence(side) for side in (node.left, node.right))
        if plain and type(node.op) in _ARITHMETIC:
            other = _ARITHMETIC[type(node.op)]()
            # An index must stay a whole number: any test would notice otherwise.
            other = ast.FloorDiv() if self._whole and isinstance(other, ast.Div) else other
            self._add("arithmetic", node, ast.BinOp(node.left, other, node.right))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Replace a number by the next one or its double, and a truth value by the other."""
        value = node.value
        if isinstance(value, bool):
            self._add("constant", node, repr(not value))
        elif isinstance(value, int):
            self._add("constant", node, repr(value + 1))
        elif isinstance(value, float):
            self._add("constant", node, repr(2 * value if value else 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        """Exchange functions for the smallest and the largest."""
        function = node.func
        if isinstance(function, ast.Name) and function.id in _EXTREMES:
            self._add("extreme", function, _EXTREMES[function.id])
        elif isinstance(function, ast.Attribute) and function.attr in _EXTREMES:
            other = ast.Attribute(function.value, _EXTREMES[function.attr], ast.Load())
            self._add("extreme", function, other)
        if _name(function) not in ("TypeVar", "ParamSpec", "NewType", "cast"):
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Move an index or a bound by one."""
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for place in places:
            bounds = [place.lower, place.upper] if isinstance(place, ast.Slice) else [place]
            for bound in bounds:
                # In plain Python a name may be a key, and any test notices another key.
                if bound is not None and (self._kernel or isinstance(bound, ast.BinOp)):
                    for operator in (ast.Add(), ast.Sub()):
                        self._add("index", bound, ast.BinOp(bound, operator, ast.Constant(1)))
        self.visit(node.value)
        outer, self._whole = self._whole, True
        self.visit(node.slice)
        self._whole = outer

    def visit_Return(self, node: ast.Return) -> None:
        """Return the opposite, the double, or nothing."""
        value = node.value
        if isinstance(value, ast.Compare | ast.BoolOp) or _is_not(value):
            self._add("return", node, f"return not ({ast.unparse(value)})" if value else "")
        elif self._kernel and value is not None and not isinstance(value, ast.Tuple):
            self._add("return", node, f"return 2 * ({ast.unparse(value)})")
        elif not self._kernel and value is not None and not _is_none(value):
            self._add("return", node, "return None")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Delete an assignment."""
        if any(_name(target) == "__all__" for target in node.targets):
            return
        self._assigned(node.targets, node)
        self.generic_visit(node)

    def _assigned(self, targets: list[ast.expr], node: ast.stmt) -> None:
        """Delete an assignment, unless its name would then be unbound, which any test notices."""
        names = {name.id for target in targets for name in _stored(target)}
        if self._function and names <= self._bound:
            self._add("deleted assignment", node, "pass")
        self._bound |= names

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Delete an assignment with an operator, or exchange its operator."""
        if self._function:
            self._add("deleted assignment", node, "pass")
        if type(node.op) in _ARITHMETIC and not _is_sequence(node.value):
            other = ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
            self._add("arithmetic", node, other)
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Replace `break` by `continue`."""
        self._add("loop", node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        """Replace `continue` by `break`."""
        self._add("loop", node, "break")


def _stored(target: ast.expr) -> Iterator[ast.Name]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node


def _name(node: ast.AST) -> str | None:
    """Return the last word of a name, an attribute, or the function that is called."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_not(node: ast.AST | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_sequence(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp):
        return True
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
    return any(isinstance(part.value, str | bytes) for part in parts)


def draw(
    root: Path,
    count: int,
    kernel: bool,
    seed: int,
    under: str = "src",
    kept: Collection[str] = (),
) -> list[Mutant]:
    """Draw mutants from the files of a package, in proportion to their lines of code.

    Parameters
    ----------
    root : Path
        The project; the sources are under ``src``.
    count : int
        How many.
    kernel : bool
        Whether they lie inside compiled functions, or outside.
    seed : int
        The same seed draws the same mutants from the same sources.
    under : str
        The folder of the sources, from the project.
    kept : collection of str
        The kinds of changes that are made; none: all of them.
    """
    rng = random.Random(f"{seed} {kernel}")
    files: list[dict[str, list[Mutant]]] = []
    lines: list[int] = []
    for path in sorted((root / under).rglob("*.py")):
        finder = Finder(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        found = [mutant for mutant in finder.mutants if mutant.kernel == kernel]
        kinds: dict[str, list[Mutant]] = {}
        for mutant in found:
            if not kept or mutant.kind in kept:
                kinds.setdefault(mutant.kind, []).append(mutant)
        files.append(kinds)
        lines.append(len(finder.lines[kernel]))
    # Evenly spaced over all lines from a random start, so that each file has its share.
    step = sum(lines) / count
    at = rng.random() * step
    drawn: list[Mutant] = []
    passed = 0.0
    for kinds, length in zip(files, lines, strict=True):
        passed += length
        while at < passed:
            drawn.extend(_take(kinds, rng))
            at += step
    # A file may have fewer places to change than its share.
    while len(drawn) < count:
        drawn.extend(_take(rng.choices(files, lines)[0], rng))
    rng.shuffle(drawn)
    return drawn


def _take(kinds: dict[str, list[Mutant]], rng: random.Random) -> list[Mutant]:
    """Take a mutant of a file, if there is one left."""
    if not kinds:
        return []
    # First the kind is drawn: otherwise most mutants would change indices and constants.
    kind = rng.choice(sorted(kinds))
    taken = kinds[kind].pop(rng.randrange(len(kinds[kind])))
    if not kinds[kind]:
        del kinds[kind]
    return [taken]
