"""Dependency parsers."""

#: What this folder adds to the tables of names, and where each name is defined.
ADDS = {
    "tasks": {
        "parse": "tasks.dependency.task:ParseTask",
    },
    "features": {
        "arcs": "tasks.dependency.features:ArcFeatures",
    },
    "label_forms": {
        "projective": "tasks.dependency.forms:TreeForm",
        "spanning-tree": "tasks.dependency.forms:TreeForm",
    },
    "example_forms": {
        "arcs": "tasks.dependency.forms:SentenceForm",
    },
    "estimators": {
        "DependencyParser": "tasks.dependency.estimator",
        "DependencyParserCV": "tasks.dependency.estimator",
    },
}
