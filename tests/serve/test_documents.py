"""What a server says about itself: the page's files, the API, and counters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from support.explained import case
from support.serving import Running, running

from partwise.serve.application import page_files


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running({'tag"ger\n': case("tagger")[0], "parser": case("parser")[0]}) as one:
        yield one


def test_every_answer_forbids_what_it_does_not_need(server: Running) -> None:
    paths = (*page_files(), "/models", "/health", "/metrics", "/openapi.json", "/nothing")
    for path in paths:
        headers = server.ask("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert not {"set-cookie", "access-control-allow-origin"} & headers.keys()


def test_the_page_loads_nothing_from_elsewhere() -> None:
    for path, (body, _, _) in page_files().items():
        text = body.decode("utf-8")
        text = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]", text), path
        assert "innerHTML" not in text
        assert "eval(" not in text
        assert not re.search(r"\son\w+=|\sstyle=|<script>|<style", text), path


def test_every_file_of_the_page_is_served(server: Running) -> None:
    folder = files("partwise.serve") / "page"
    for entry in folder.iterdir():
        path = {"index.html": "/", "docs.html": "/docs"}.get(entry.name, f"/page/{entry.name}")
        got = server.ask("GET", path)
        assert (got.status, got.body) == (200, entry.read_bytes())


def test_links_of_the_pages_lead_somewhere(server: Running) -> None:
    for path in ("/", "/docs"):
        text = server.ask("GET", path).body.decode()
        for target in re.findall(r'(?:href|src)="(/[^"#]*)"', text):
            assert server.ask("GET", target).status == 200, target


def test_the_api_describes_its_paths_and_checks_by_the_same_schemas(server: Running) -> None:
    told = server.ask("GET", "/openapi.json").json
    assert told["openapi"].startswith("3.1")
    for path, methods in told["paths"].items():
        for method in methods:
            got = server.ask(method.upper(), path, {} if method == "post" else None)
            assert got.status == (422 if method == "post" else 200)
    for path in ("/predict", "/explain"):
        content = told["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        assert len(content["examples"]) == 2
        for example in content["examples"].values():
            assert server.ask("POST", path, example["value"]).status == 200
    request = told["components"]["schemas"]["PredictRequest"]
    assert request["required"] == ["model"]
    assert request["oneOf"] == [{"required": ["input"]}, {"required": ["inputs"]}]
    most = request["properties"]["k"]["maximum"]
    asked = {"model": "parser", "input": {"text": "a b"}}
    assert server.predict({**asked, "k": most}).status == 200
    assert server.predict({**asked, "k": most + 1}).status == 422


def test_models_tell_what_they_read_and_not_where_they_are(server: Running) -> None:
    told = server.ask("GET", "/models")
    assert [one["name"] for one in told.json["models"]] == ['tag"ger\n', "parser"]
    parser = told.json["models"][1]
    assert parser["reads"]["text"]
    assert parser["reads"]["columns"][0] == {"name": "form", "required": True}
    assert parser["certificate"]["relative_gap"] >= 0.0
    assert b"/tmp" not in told.body


def test_metrics_count_answers_and_examples(server: Running) -> None:
    def value(name: str) -> float:
        found = re.search(
            rf"^{re.escape(name)} (\S+)$", server.ask("GET", "/metrics").body.decode(), re.M
        )
        return 0.0 if found is None else float(found[1])

    right = 'partwise_requests_total{path="/predict",status="200"}'
    wrong = 'partwise_requests_total{path="/predict",status="422"}'
    other = 'partwise_requests_total{path="other",status="404"}'
    tokens = 'partwise_tokens_total{model="parser"}'
    before = [value(name) for name in (right, wrong, other, tokens)]
    server.predict({"model": "parser", "input": {"tokens": ["a", "b", "c"]}})
    server.predict({"model": "parser", "input": {"tokens": [1]}})
    server.ask("GET", "/made-up")
    after = [value(name) for name in (right, wrong, other, tokens)]
    assert [b - a for a, b in zip(before, after, strict=True)] == [1.0, 1.0, 1.0, 3.0]
    text = server.ask("GET", "/metrics").body.decode()
    assert "made-up" not in text
    assert 'model="tag\\"ger\\n"' not in text or "\n" not in 'tag\\"ger\\n'
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \S+ .+|[a-z_]+(\{.*\})? \S+", line), line
