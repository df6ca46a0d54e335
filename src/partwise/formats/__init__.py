"""Readers and writers of text files: formats of tokens, rows of numbers, trees and graphs."""

from __future__ import annotations

from ..lazy import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".brackets": "parse_tree read_brackets write_brackets",
        ".columns": "read_columns write_columns write_tokens",
        ".conll": "Sentence read_conll write_conll",
        ".conllu": "read_conllu read_conllx write_conllu write_conllx",
        ".conversion": "convert",
        ".crfsuite": "read_crfsuite write_crfsuite",
        ".example_weights": "read_example_weights",
        ".frames": "frame_columns read_frame read_parquet",
        ".graph_text": "read_graph_text write_graph_text",
        ".jsonl": "read_jsonl write_jsonl",
        ".registry": "Format",
        ".spans": "read_spans write_spans",
        ".svmlight": "read_svmlight",
        ".tokens": "Columns",
        ".tree": "Tree",
        ".validation": "validate",
    },
)
