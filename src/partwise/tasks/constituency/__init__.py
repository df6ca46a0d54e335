"""Phrase-structure parsers."""

#: What this folder adds to the tables of names, and where each name is defined.
ADDS = {
    "tasks": {
        "brackets": "tasks.constituency.task:BracketTask",
    },
    "features": {
        "spans": "tasks.constituency.features:SpanFeatures",
    },
    "label_forms": {
        "grammar": "tasks.constituency.forms:PhraseForm",
    },
    "example_forms": {
        "spans": "tasks.constituency.forms:PhraseSentenceForm",
    },
    "estimators": {
        "ConstituencyParser": "tasks.constituency.estimator",
        "ConstituencyParserCV": "tasks.constituency.estimator",
    },
}
