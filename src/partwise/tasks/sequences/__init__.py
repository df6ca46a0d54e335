"""Classifiers, taggers and segmenters."""

#: What this folder adds to the tables of names, and where each name is defined.
ADDS = {
    "tasks": {
        "tag": "tasks.sequences.tag_task:TagTask",
        "classify": "tasks.sequences.classify_task:ClassifyTask",
        "segment": "tasks.sequences.segment_task:SegmentTask",
    },
    "features": {
        "positions": "tasks.sequences.features:PositionFeatures",
        "segments": "tasks.sequences.segment_features:SegmentFeatures",
    },
    "label_forms": {
        "multiclass": "tasks.sequences.label_forms:ClassForm",
        "chain": "tasks.sequences.label_forms:TagForm",
        "second-order-chain": "tasks.sequences.label_forms:TagForm",
        "semi-markov": "tasks.sequences.label_forms:SegmentForm",
    },
    "example_forms": {
        "positions": "tasks.sequences.row_form:form_of_positions",
        "segments": "tasks.sequences.token_form:SegmentTokenForm",
    },
    "estimators": {
        "KernelClassifier": "tasks.sequences.kernel_estimators",
        "KernelTagger": "tasks.sequences.kernel_estimators",
        "LinearClassifier": "tasks.sequences.classifier",
        "LinearClassifierCV": "tasks.sequences.classifier",
        "SegmentTagger": "tasks.sequences.segmenter",
        "SegmentTaggerCV": "tasks.sequences.segmenter",
        "SequenceTagger": "tasks.sequences.tagger",
        "SequenceTaggerCV": "tasks.sequences.tagger",
    },
}
