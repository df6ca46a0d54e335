"""Sentences for the tests of arc features."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Words:
    form: list[str]
    lemma: list[str] | None = None
    cpos: list[str] | None = None
    pos: list[str] | None = None
    feats: list[str] | None = None


@dataclass
class Bare:
    form: list[str]


DOG = Words(
    ["The", "barking", "dog", "sleeps"],
    ["the", "bark", "dog", "sleep"],
    ["D", "V", "N", "V"],
    ["DT", "VBG", "NN", "VBZ"],
    ["_", "form=ing", "num=s", "per=3|num=s"],
)
DOG_HEADS = [3, 3, 4, 0]
