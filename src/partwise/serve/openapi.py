"""The OpenAPI document of a server, from the declarations that requests are checked by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .. import __version__
from .declarations import explain_schema, predict_schema
from .limits import Limits

__all__ = ["document"]

_ERROR: Final = {
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
}

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

_NUMBERS: Final = {"type": "array", "items": {"type": "number"}}
_RESULT: Final = {
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
            "type": "array", "items": {"type": "object"},
            "description": "start, end (the token after the last), label and probability.",
        },
        "heads": {
            "type": "array", "items": {"type": "integer"},
            "description": "parse: the head of each word, counted from 1; 0 is the root.",
        },
        "relations": {"type": ["array", "null"], "items": {"type": "string"}},
        "tree": {"type": "string", "description": "brackets: the tree in brackets."},
        "nodes": {
            "type": "array", "items": {"type": "object"},
            "description": "brackets: label, start, end and parent of each node, parents first.",
        },
        "probability": {"type": "number"},
        "probabilities": _NUMBERS,
        "head_probabilities": _NUMBERS,
        "marginals": {"type": "array", "items": {}},
        "alternatives": {
            "type": "array", "items": {"type": "object"},
            "description": "The k best labels with score and probability, best first.",
        },
    },
}  # fmt: skip


def document(limits: Limits, facts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI document.

    Parameters
    ----------
    limits : Limits
        The limits of the server.
    facts : sequence of dict
        What is told about each model.
    """
    examples = {one["name"]: {"summary": one["summary"], "value": _example(one)} for one in facts}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "partwise serve",
            "version": __version__,
            "description": "Predictions and explanations of linear models of structured labels.",
        },
        "paths": {
            "/predict": {
                "post": _operation(
                    "Predict the labels of one input or of several",
                    "PredictRequest", "Predictions", examples,
                )
            },
            "/explain": {
                "post": _operation(
                    "Say which features spoke for each part of a prediction, and which against it",
                    "ExplainRequest", "Explanations",
                    {
                        name: {"summary": one["summary"],
                               "value": {k: one["value"][k] for k in ("model", "input")}}
                        for name, one in examples.items()
                    },
                )
            },
            "/models": {"get": _plain("The models, what they read, and their certificates")},
            "/health": {"get": _plain("Whether the server is up")},
            "/metrics": {"get": _plain("Counters for Prometheus", "text/plain")},
            "/openapi.json": {"get": _plain("This document")},
        },
        "components": {
            "schemas": {
                "PredictRequest": predict_schema(limits),
                "ExplainRequest": explain_schema(limits),
                "Predictions": _answers(_RESULT),
                "Explanations": _answers({"type": "object"}),
                "Error": _ERROR,
            }
        },
    }  # fmt: skip


def _example(facts: dict[str, Any]) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": facts["name"], "input": facts["sample"]}
    if facts["probabilities"]:
        asked["probabilities"] = True
    return asked


def _answers(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "model": {"type": "string"},
            "task": {"type": "string"},
            "results": {"type": "array", "items": result},
        },
        "required": ["model", "task", "results"],
    }


def _operation(summary: str, request: str, answer: str, examples: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": summary,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": f"#/components/schemas/{request}"},
                    "examples": examples,
                }
            },
        },
        "responses": {
            "200": {
                "description": "One result per example.",
                "content": _content("application/json", answer),
            },
            **{
                status: {"description": about, "content": _content("application/json", "Error")}
                for status, about in _REFUSALS.items()
            },
        },
    }


def _content(kind: str, schema: str) -> dict[str, Any]:
    return {kind: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _plain(summary: str, kind: str = "application/json") -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {"200": {"description": "Done.", "content": {kind: {}}}},
    }
