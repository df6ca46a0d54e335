"""Labellers of the vertices of graphs."""

#: What this folder adds to the tables of names, and where each name is defined.
ADDS = {
    "tasks": {
        "graph": "tasks.graph.task:GraphTask",
    },
    "features": {
        "graphs": "tasks.graph.features:GraphFeatures",
    },
    "label_forms": {
        "graph": "tasks.graph.forms:VertexForm",
    },
    "example_forms": {
        "graphs": "tasks.graph.forms:GraphForm",
    },
    "estimators": {
        "GraphLabeler": "tasks.graph.estimator",
        "GraphLabelerCV": "tasks.graph.estimator",
        "KernelGraphLabeler": "tasks.graph.kernel",
    },
}
