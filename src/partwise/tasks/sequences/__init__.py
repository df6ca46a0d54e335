"""Classifiers, taggers and segmenters."""

#: What this folder adds to the tables of names, and where each name is defined.
ADDS = {
    "tasks": {
        "tag": "tasks.sequences.tag:Tag",
        "classify": "tasks.sequences.classify:Classify",
        "segment": "tasks.sequences.segment:Segment",
    },
    "features": {
        "positions": "tasks.sequences.features:PositionFeatures",
        "segments": "tasks.sequences.segment_features:SegmentFeatures",
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
