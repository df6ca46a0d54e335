"""The API: every path, what is sent to it and what it answers.

Requests are routed and their bodies checked by what stands here, and the OpenAPI document shows the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .. import __version__
from .limits import Limits
from .schema import Schema

__all__ = ["JSON", "Body", "Route", "document", "routes", "some_names"]

JSON: Final = "application/json"
#: The most characters of a text: each may be a token.
_CHARACTERS: Final = 200_000
_MOST_NAMES: Final = 10


class Body(NamedTuple):
    """The body of a request or an answer: its name in the document, and its schema."""

    name: str
    schema: Schema


class Route(NamedTuple):
    """One path of the API.

    Attributes
    ----------
    summary : str
        What it does, in a few words.
    kind : str
        The media type of its answers.
    request, answer : Body or None
        What is sent to it, if it is a question about inputs, and what it then answers.
    """

    summary: str
    kind: str = JSON
    request: Body | None = None
    answer: Body | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that it takes."""
        return ("GET", "HEAD") if self.request is None else ("POST",)


def routes(limits: Limits, models: Sequence[str]) -> dict[str, Route]:
    """Return all routes by their paths.

    Parameters
    ----------
    limits : Limits
        The limits of the server.
    models : sequence of str
        The names of the models.
    """
    predict = _question(
        models, limits, limits.max_sentences,
        k={"type": "integer", "minimum": 1, "maximum": limits.max_k,
           "description": "Also answer the k best labels of each example, with their scores."},
        probabilities=_switch("Also answer the probabilities of what is predicted. Models with the "
                              "hinge loss have none."),
        marginals=_switch("Also answer the probabilities of all labels at every place."),
        notes=_switch("Also answer notes for people, if the model knows nothing of the input."),
    )  # fmt: skip
    explain = _question(
        models, limits, limits.max_explained,
        top={"type": "integer", "minimum": 1, "maximum": 100,
             "description": "The most features to name for and against each part (default: 10)."},
        runners_up=_switch("Whether to look for the best other label of every part, which takes "
                           "one search per part (default: true)."),
    )  # fmt: skip
    return {
        "/predict": Route(
            "Predict the labels of one input or of several",
            request=Body("PredictRequest", predict),
            answer=Body("Predictions", _answers(_RESULT)),
        ),
        "/explain": Route(
            "Say which features spoke for each part of a prediction, and which against it",
            request=Body("ExplainRequest", explain),
            answer=Body("Explanations", _answers({"type": "object"})),
        ),
        "/models": Route("The models, what they read, and their certificates"),
        "/health": Route("Whether the server is up"),
        "/metrics": Route("Counters for Prometheus", "text/plain"),
        "/openapi.json": Route("This document"),
    }


# Requests


def _switch(about: str) -> Schema:
    return {"type": "boolean", "description": about}


def _list(most: int, items: Schema | None = None, **more: Any) -> Schema:
    return {"type": "array", "maxItems": most, "items": items or {}, **more}


def _input(title: str, about: str, needed: str, **properties: Schema) -> Schema:
    return {
        "type": "object", "title": title, "description": about, "properties": properties,
        "required": [needed], "additionalProperties": False,
    }  # fmt: skip


def _inputs(limits: Limits) -> Schema:
    """Return the schema of one input."""
    most = max(limits.lengths.values())
    return {
        "oneOf": [
            _input(
                "Text", "Plain text, cut into sentences and tokens by the server.", "text",
                text={"type": "string", "maxLength": _CHARACTERS},
            ),
            _input(
                "Tokens", "The tokens of one sentence: strings, lists of columns, objects of "
                "columns or of features, or lists of numbers, as /models says.", "tokens",
                tokens=_list(most, minItems=1),
                transitions=_list(
                    most, description="Features of neighbouring tokens, for models with some."
                ),
            ),
            _input(
                "Features", "The features of one example of a classifier.", "features",
                features={"type": ["object", "array"],
                          "description": "Features by name or number, or all."},
            ),
            _input(
                "Graph", "The nodes and edges of one graph.", "nodes",
                nodes=_list(most, minItems=1),
                edges=_list(most, {"type": "array"}),
                edge_features=_list(most),
            ),
        ]
    }  # fmt: skip


def _question(models: Sequence[str], limits: Limits, most: int, **options: Schema) -> Schema:
    """Return the schema of the body of a request about some inputs."""
    one = _inputs(limits)
    name = "The name of a model; it may be left out if there is one only."
    needs: dict[str, Any] = {"oneOf": [{"required": ["input"]}, {"required": ["inputs"]}]}
    if len(models) > 1:
        name = f"There are several models; name one: {some_names(models)}"
        needs["required"] = ["model"]
    return {
        "type": "object",
        "properties": {
            "model": {"type": "string", "maxLength": 200, "description": name},
            "input": {**one, "description": "A single input."},
            "inputs": _list(
                most, one, minItems=1, description="Several inputs, instead of a single one."
            ),
            **options,
        },
        **needs,
        "additionalProperties": False,
    }


def some_names(names: Sequence[str]) -> str:
    """Return the first names of a list, separated by commas."""
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")


# Answers

_NUMBERS: Final[Schema] = {"type": "array", "items": {"type": "number"}}
_OBJECTS: Final[Schema] = {"type": "array", "items": {"type": "object"}}
_RESULT: Final[Schema] = {
    "type": "object",
    "description": "One per example. Which fields there are depends on the task.",
    "properties": {
        "input": {"type": "integer", "description": "The number of its input, from 0."},
        "tokens": {"type": "array", "items": {"type": "string"}},
        "offsets": {
            "type": "array", "items": {"type": "array", "items": {"type": "integer"}},
            "description": "Where each token begins and ends in the text.",
        },
        "label": {"description": "classify: the label."},
        "labels": {"type": "array", "items": {}, "description": "One per token or vertex."},
        "spans": {
            **_OBJECTS,
            "description": "start, end (the token after the last), label and probability.",
        },
        "heads": {
            "type": "array", "items": {"type": "integer"},
            "description": "parse: the head of each word, counted from 1; 0 is the root.",
        },
        "relations": {"type": ["array", "null"], "items": {"type": "string"}},
        "tree": {"type": "string", "description": "brackets: the tree in brackets."},
        "nodes": {
            **_OBJECTS,
            "description": "brackets: label, start, end and parent of each node, parents first.",
        },
        "probability": {"type": "number"},
        "probabilities": _NUMBERS,
        "head_probabilities": _NUMBERS,
        "marginals": {"type": "array", "items": {}},
        "alternatives": {
            **_OBJECTS,
            "description": "The k best labels with score and probability, best first.",
        },
    },
}  # fmt: skip

_ERROR: Final = Body(
    "Error",
    {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": {"type": "string", "description": "A name for programs."},
                    "message": {"type": "string", "description": "What is wrong and what to do."},
                    "where": {"type": ["string", "null"], "description": "Where in the request."},
                },
                "required": ["code", "message", "where"],
            }
        },
        "required": ["error"],
    },
)

_REFUSALS: Final = {
    "400": "Not HTTP, not JSON, or nested too deep.",
    "403": "A page of another site sent the request.",
    "404": "There is no such page or model.",
    "405": "The path takes another method.",
    "408": "The request did not come in time.",
    "411": "The request has no body.",
    "413": "Too many bytes, examples or tokens.",
    "415": "The body is no JSON, or in an unknown encoding.",
    "421": "The Host header names another server.",
    "422": "JSON that the model cannot read; `where` says which part.",
    "503": "Too busy, or the time is over; Retry-After says when to try again.",
}


def _answers(result: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {
            "model": {"type": "string"},
            "task": {"type": "string"},
            "results": {"type": "array", "items": result},
        },
        "required": ["model", "task", "results"],
    }


# The document


def document(known: Mapping[str, Route], facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI document.

    Parameters
    ----------
    known : mapping of str to Route
        The routes.
    facts : sequence of mapping
        What is told about each model.
    """
    bodies = [_ERROR, *(one for r in known.values() for one in (r.request, r.answer) if one)]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "partwise serve",
            "version": __version__,
            "description": "Predictions and explanations of linear models of structured labels.",
        },
        "paths": {
            path: {route.methods[0].lower(): _operation(route, facts)}
            for path, route in known.items()
        },
        "components": {"schemas": {one.name: one.schema for one in bodies}},
    }


def _operation(route: Route, facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {"summary": route.summary}
    if route.request is None or route.answer is None:
        return {**told, "responses": {"200": {"description": "Done.", "content": {route.kind: {}}}}}
    examples = {one["name"]: _example(one, route.request) for one in facts}
    refusals = {status: _response(about, _ERROR) for status, about in _REFUSALS.items()}
    return {
        **told,
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": _reference(route.request), "examples": examples}},
        },
        "responses": {"200": _response("One result per example.", route.answer), **refusals},
    }


def _example(facts: Mapping[str, Any], request: Body) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": facts["name"], "input": facts["sample"]}
    if facts["probabilities"] and "probabilities" in request.schema["properties"]:
        asked["probabilities"] = True
    return {"summary": facts["summary"], "value": asked}


def _response(about: str, body: Body) -> dict[str, Any]:
    return {"description": about, "content": {JSON: {"schema": _reference(body)}}}


def _reference(body: Body) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{body.name}"}
