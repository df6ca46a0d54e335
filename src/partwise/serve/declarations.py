"""What requests look like: the schemas that they are checked by and that the documents show."""

from __future__ import annotations

from typing import Any, Final

from .limits import Limits

__all__ = ["explain_schema", "predict_schema"]

#: The most characters of a text: each may be a token.
_CHARACTERS: Final = 200_000


def _inputs(limits: Limits) -> dict[str, Any]:
    """Return the schema of one input."""
    longest = max(limits.lengths.values())
    features = {"type": ["object", "array"], "description": "Features by name or number, or all."}
    return {
        "oneOf": [
            {
                "type": "object",
                "title": "Text",
                "description": "Plain text, cut into sentences and tokens by the server.",
                "properties": {"text": {"type": "string", "maxLength": _CHARACTERS}},
                "required": ["text"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "title": "Tokens",
                "description": "The tokens of one sentence: strings, lists of columns, objects of "
                "columns or of features, or lists of numbers, as /models says.",
                "properties": {
                    "tokens": {"type": "array", "minItems": 1, "maxItems": longest, "items": {}},
                    "transitions": {
                        "type": "array", "maxItems": longest, "items": {},
                        "description": "Features of neighbouring tokens, for models with some.",
                    },
                },
                "required": ["tokens"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "title": "Features",
                "description": "The features of one example of a classifier.",
                "properties": {"features": features},
                "required": ["features"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "title": "Graph",
                "description": "The nodes and edges of one graph.",
                "properties": {
                    "nodes": {"type": "array", "minItems": 1, "maxItems": longest, "items": {}},
                    "edges": {"type": "array", "maxItems": longest, "items": {"type": "array"}},
                    "edge_features": {"type": "array", "maxItems": longest, "items": {}},
                },
                "required": ["nodes"],
                "additionalProperties": False,
            },
        ]
    }  # fmt: skip


def _shared(limits: Limits, most: int) -> dict[str, Any]:
    one = _inputs(limits)
    return {
        "model": {
            "type": "string", "maxLength": 200,
            "description": "The name of a model; it may be left out if there is one only.",
        },
        "input": {**one, "description": "A single input."},
        "inputs": {
            "type": "array", "minItems": 1, "maxItems": most, "items": one,
            "description": "Several inputs, instead of a single one.",
        },
    }  # fmt: skip


def predict_schema(limits: Limits) -> dict[str, Any]:
    """Return the schema of the body of ``POST /predict``."""
    return {
        "type": "object",
        "properties": {
            **_shared(limits, limits.max_sentences),
            "k": {
                "type": "integer", "minimum": 1, "maximum": limits.max_k,
                "description": "Also answer the k best labels of each example, with their scores.",
            },
            "probabilities": {
                "type": "boolean",
                "description": "Also answer the probabilities of what is predicted. Models with "
                "the hinge loss have none.",
            },
            "marginals": {
                "type": "boolean",
                "description": "Also answer the probabilities of all labels at every place.",
            },
            "notes": {
                "type": "boolean",
                "description": "Also answer notes for people, if the model knows nothing of the "
                "input.",
            },
        },
        "additionalProperties": False,
    }  # fmt: skip


def explain_schema(limits: Limits) -> dict[str, Any]:
    """Return the schema of the body of ``POST /explain``."""
    return {
        "type": "object",
        "properties": {
            **_shared(limits, limits.max_explained),
            "top": {
                "type": "integer", "minimum": 1, "maximum": 100,
                "description": "The most features to name for and against each part (default: 10).",
            },
            "runners_up": {
                "type": "boolean",
                "description": "Whether to look for the best other label of every part, which "
                "takes one search per part (default: true).",
            },
        },
        "additionalProperties": False,
    }  # fmt: skip
