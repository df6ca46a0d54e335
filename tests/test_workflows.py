"""The workflows: they name what exists, have few rights, and test what the metadata promise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def loaded(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", ())


def nox_sessions() -> dict[str, list[str]]:
    """The sessions of the noxfile and their versions of Python; nox need not be installed."""
    tree = ast.parse((ROOT / "noxfile.py").read_text("utf-8"))
    known: dict[str, Any] = {}
    sessions: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                known[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                text = ast.unparse(decorator)
                if text.startswith("nox.session"):
                    python = re.search(r"python=(.*)\)", text)
                    sessions[node.name] = eval(python[1], known) if python else []
    return sessions


def pythons() -> list[str]:
    """The versions of Python that the metadata name."""
    named = metadata("partwise").get_all("Classifier") or []
    return [found[1] for one in named if (found := re.search(r":: (3\.\d+)$", one))]


def test_there_are_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "newest", "release"]


def test_every_version_of_python_is_tested() -> None:
    matrix = loaded(ROOT / ".github/workflows/ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == pythons() == nox_sessions()["tests"]
    assert {one.partition("-")[0] for one in matrix["os"]} == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_commands_name_what_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    sessions = nox_sessions()
    named = 0
    for step in steps(loaded(path)):
        run = step.get("run", "")
        for found in re.findall(r"\bnox --session (\S+)", run):
            name, _, python = found.partition("-")
            assert name in sessions, found
            assert python in ("", "${{", *sessions[name]), found
            assert bool(python) == bool(sessions[name]), f"{found}: a version for {name}"
            named += 1
        for found in re.findall(r"\bmake(?: -C \S+)?((?: [a-z]+)+)", run):
            assert set(found.split()) <= targets, found
            named += 1
        for found in re.findall(r"\btools/\w+\.py", run):
            assert (ROOT / found).is_file(), found
            named += 1
        for found in re.findall(r"--file (\S+) --target", run):
            assert (ROOT / found).is_file(), found
    assert named > 0


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_rights_limits_and_versions(path: Path) -> None:
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert "group" in workflow["concurrency"]
    for name, job in workflow["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= 120, name
        writing = {right for right, kind in job.get("permissions", {}).items() if kind == "write"}
        allowed = {"publish": {"id-token"}, "announce": {"contents"}}.get(name, set())
        assert writing == (allowed if path.stem == "release" else set()), name
    for step in steps(workflow):
        if "uses" in step:
            assert re.search(r"@(v\d+|release/v\d+)$", step["uses"]), step["uses"]
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # What others can choose, such as the name of a branch, is never pasted into a script.
        assert not re.search(r"\$\{\{\s*(github\.(event|head_ref)|inputs)", step.get("run", ""))


def test_the_last_job_waits_for_all_others() -> None:
    jobs = loaded(ROOT / ".github/workflows/ci.yml")["jobs"]
    assert set(jobs["passed"]["needs"]) == jobs.keys() - {"passed"}


def test_targets_of_images() -> None:
    text = (ROOT / "docker/Dockerfile").read_text("utf-8")
    stages = set(re.findall(r"^FROM \S+ AS (\w+)$", text, re.M))
    jobs = loaded(ROOT / ".github/workflows/ci.yml")["jobs"]
    assert set(jobs["images"]["strategy"]["matrix"]["target"]) == stages - {"wheel", "base"}
    compose = loaded(ROOT / "docker/compose.yaml")
    build = compose["x-partwise"]["build"]
    assert build["target"] in stages
    assert (ROOT / "docker" / build["context"] / build["dockerfile"]).is_file()
    for name in re.findall(r"^COPY (?!--)(.*) \S+$", text, re.M):
        ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        for path in name.split():
            assert (ROOT / path).exists(), path
            assert f"!{path}" in ignored, path
    for path in re.findall(r"type=bind,source=([^,]+),", text):
        assert f"!{path}" in (ROOT / ".dockerignore").read_text("utf-8").splitlines(), path


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_of_issues(path: Path) -> None:
    form = loaded(path)
    if path.stem == "config":
        assert form == {"blank_issues_enabled": False}
        return
    assert form.keys() == {"name", "description", "labels", "body"}
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert ids
    assert len(set(ids)) == len(ids)
    for field in form["body"]:
        assert field["type"] in ("markdown", "textarea", "dropdown", "checkboxes")
        assert "value" in field["attributes"] or "label" in field["attributes"]
        for page in re.findall(r"\bdocs/[\w/]+\.md", field["attributes"].get("value", "")):
            assert (ROOT / page).is_file(), page


@pytest.mark.parametrize("name", [".pre-commit-config.yaml", ".github/dependabot.yml"])
def test_other_files_are_read(name: str) -> None:
    found = loaded(ROOT / name)
    for hook in (hook for repo in found.get("repos", ()) for hook in repo["hooks"]):
        for tool in re.findall(r"tools/\w+\.py", hook.get("entry", "")):
            assert (ROOT / tool).is_file()
    assert found.get("repos") or found.get("updates")
