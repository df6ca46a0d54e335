"""Find the tests that are near a function, from the names in the sources; nothing is run."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_WORD: Final = re.compile(r"\w+")
_GENERAL: Final = frozenset(
    {"base", "oracles", "structure", "search", "registry", "solvers", "structures"}
)
_CLOCKS: Final = frozenset({"perf_counter", "process_time", "thread_time", "timeit"})
_BY_CLASS: Final = ("__init__", "__post_init__", "__new__", "__call__")


@dataclass
class Node:
    """A function, a method, or a statement of a module or of a class, and what it mentions."""

    file: str
    name: str
    owner: str = ""
    words: set[str] = field(default_factory=set)
    kernel: bool = False

    @property
    def test(self) -> str | None:
        """The id of the test, if it is one."""
        if not _holds_tests(self.file) or not self.name.startswith("test"):
            return None
        return "::".join(word for word in (self.file, self.owner, self.name) if word)


class Reach:
    """The functions of a project and who mentions whom.

    A name that begins with an underscore is looked up in its own file only, any other name in all
    files. This finds more users than there are, so the nearest are preferred.
    """

    def __init__(self, root: Path) -> None:
        self.nodes: list[Node] = []
        self.imports: dict[str, set[str]] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        for folder in ("src", "tests"):
            for path in sorted((root / folder).rglob("*.py")):
                self._read(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        self._inherit()
        # A name that the package exports is defined in one of its modules.
        homes = {node.owner or node.name: node.file for node in self.nodes}
        for imported in self.imports.values():
            imported |= {homes[stem] for stem in map(_stem, imported) if stem in homes}
        self._users: dict[str, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for word in node.words:
                self._users[word].append(node)
        clocks = [user for word in _CLOCKS for user in self._users[word]]
        timers = [node for node in clocks if node.file.startswith("tests/")]
        for timer in tuple(timers):
            timers += [user for user in self._users[timer.name] if user.file == timer.file]
        self._timed = {(node.file, node.name) for node in timers}

    def _read(self, file: str, text: str) -> None:
        module = ast.parse(text)
        renamed: dict[str, str] = {}
        imported: set[str] = set()
        for statement in ast.walk(module):
            if isinstance(statement, ast.ImportFrom):
                words = (statement.module or "").split(".")
                folder = Path(file).parents[statement.level - 1] if statement.level else None
                base = (folder or Path("src" if words[0] == "partwise" else "tests")) / "/".join(
                    words
                )
                for alias in statement.names:
                    renamed[alias.asname or alias.name] = alias.name
                    imported.update(
                        (f"{base.as_posix()}.py", f"{(base / alias.name).as_posix()}.py")
                    )
        self.imports[file] = imported
        self._enter(file, "", module.body, renamed)

    def _enter(self, file: str, owner: str, body: list[ast.stmt], renamed: dict[str, str]) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                self._classes[statement.name] = statement
                self._enter(file, statement.name, statement.body, renamed)
                continue
            if isinstance(statement, ast.Import | ast.ImportFrom):
                continue
            words = {renamed.get(word, word) for word in _words(statement)}
            if isinstance(statement, ast.FunctionDef):
                compiled = any(
                    name in ("njit", "cfunc") for name in map(_called, statement.decorator_list)
                )
                self.nodes.append(Node(file, statement.name, owner, words, compiled))
                continue
            targets = [
                name.id
                for name in ast.walk(statement)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            ]
            # Any user of a class may call its methods.
            for target in [owner] if owner else targets or [""]:
                self.nodes.append(Node(file, target, "", words))

    def _inherit(self) -> None:
        """Add the tests that the classes of test files inherit."""
        for file, owner in sorted({(node.file, node.owner) for node in self.nodes if node.owner}):
            own = [node for node in self.nodes if (node.file, node.owner) == (file, owner)]
            words = set().union(*(node.words for node in own))
            known = {node.name for node in own}
            waiting = [owner] if _holds_tests(file) else []
            while waiting:
                found = self._classes.get(waiting.pop())
                waiting += [_called(base) or "" for base in found.bases] if found else []
                for method in found.body if found else []:
                    if isinstance(method, ast.FunctionDef) and method.name not in known:
                        known.add(method.name)
                        self.nodes.append(Node(file, method.name, owner, words | _words(method)))

    def tests(self, file: str, function: str) -> list[tuple[int, str]]:
        """Rank the tests that lead to a function by the number of steps, the nearest first."""
        first, _, rest = function.partition(".")
        if function == "<module>":
            begin = [node for node in self.nodes if node.file == file]
        else:
            last = rest.partition(".")[0]
            begin = [
                node
                for node in self.nodes
                if node.file == file
                and ((node.owner, node.name) == (first, last) or (node.owner or node.name) == first)
            ]
            exact = [node for node in begin if (node.owner, node.name) == (first, last)]
            begin = exact or begin
        steps = {id(node): 0 for node in begin}
        waiting = begin
        found: list[tuple[int, str]] = []
        while waiting:
            reached: list[Node] = []
            for node in waiting:
                if node.test is not None:
                    found.append((steps[id(node)], node.test))
                for user in self._mentioning(node):
                    if id(user) not in steps:
                        steps[id(user)] = steps[id(node)] + 1
                        reached.append(user)
            waiting = reached
        return sorted(found)

    def _mentioning(self, node: Node) -> list[Node]:
        names = [node.name]
        if node.owner and (node.name in _BY_CLASS or node.name.startswith("_")):
            names.append(node.owner)
        return [
            user
            for name in names
            for user in self._users[name]
            if not name.startswith("_") or user.file == node.file
        ]

    def _imports_between(self, file: str) -> dict[str, int]:
        """Count the imports from each file to this one."""
        away = {file: 0}
        waiting = [file]
        while waiting:
            source = waiting.pop(0)
            for user, imported in self.imports.items():
                if source in imported and user not in away:
                    away[user] = away[source] + 1
                    waiting.append(user)
        return away

    def importers(self, file: str) -> set[str]:
        """List the files that import a file, directly or through others, and the file itself."""
        return set(self._imports_between(file))

    def compiled_with(self, file: str, function: str) -> set[str]:
        """List the compiled functions that contain the code of one: itself and its callers."""
        found = [node for node in self.nodes if (node.file, node.name) == (file, function)]
        for node in found:
            for user in self._users[node.name]:
                if user.kernel and user not in found:
                    found.append(user)
        return {f"{node.file}:{node.name}" for node in found}

    def part(self, file: str, function: str, most: int) -> list[list[str]]:
        """Choose the tests of the part that a function belongs to.

        Parameters
        ----------
        file, function : str
            Where the function is, and its name within the file.
        most : int
            How many test files, at most.

        Returns
        -------
        list of list of str
            For each test file its tests, the nearest first. The file that is named after the
            module comes first and with all of its tests, then those that share a word of its path,
            then those that import it through the fewest others, each with the tests that lead to
            the function. Tests that measure time are left out, since they can fail on a busy
            machine.
        """
        stem = Path(file).stem
        named = {test for test in self.imports if Path(test).name == f"test_{stem}.py"}
        ranked = self.tests(file, function)
        ranked += [(99, node.test) for node in self.nodes if node.file in named and node.test]
        steps: dict[str, dict[str, int]] = defaultdict(dict)
        for step, test in ranked:
            test_file, _, name = test.partition("::")
            if (test_file, name.rpartition("::")[2]) not in self._timed:
                steps[test_file].setdefault(test, step)

        own_words = {*stem.split("_"), *Path(file).parts[2:-1]} - _GENERAL
        away = self._imports_between(file)

        def rank(test_file: str) -> tuple[bool, int, int, float]:
            words = Path(test_file).stem.split("_")[1:]
            shared = [word for word in words if any(_alike(word, own) for own in own_words)]
            near = sorted(steps[test_file].values())[:5]
            return (
                test_file not in named,
                -len(shared),
                away.get(test_file, 99),
                sum(near) / len(near),
            )

        chosen = sorted(steps, key=rank)[:most]
        return [sorted(steps[name], key=lambda test: steps[name][test]) for name in chosen]


def _holds_tests(file: str) -> bool:
    return file.startswith("tests/") and Path(file).name.startswith("test_")


def _stem(file: str) -> str:
    return Path(file).stem


def _called(decorator: ast.expr) -> str | None:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return name.id if isinstance(name, ast.Name) else None


def _alike(word: str, other: str) -> bool:
    """Return whether one word is the beginning of the other, like segment and segmenter."""
    long = min(len(word), len(other)) > 3
    return word == other or (long and (word.startswith(other) or other.startswith(word)))


def _words(statement: ast.AST) -> set[str]:
    """Collect the names, attributes, arguments and one-word strings of a statement."""
    words: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.arg):
            words.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            words.update([text] if text.isidentifier() else _CLOCKS & set(_WORD.findall(text)))
    return words
