"""
Segment: phrases with features of their own
===========================================

A :class:`partwise.SegmentTagger` labels segments of several tokens as a whole. A feature can then
look at a whole segment: its length, its first and last word, or a list of names that it is on.
"""

# %%
# Data
# ----
# A segment is ``(start, end, label)``, where end is the token after the last one. The sentences
# have names of two words. Some are on a list of places, but their words are also those of people:
# only the whole name shows what it is.

import numpy as np

FIRST, LAST = ["Ada", "Brook", "Cole", "Dale"], ["Hill", "Marsh", "Stone", "Wood"]
PLACES = {("Ada", "Hill"), ("Brook", "Wood"), ("Cole", "Stone"), ("Dale", "Marsh"), ("Ada", "Wood")}


def sentences(number, seed):
    """Draw sentences, and the segments of each."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(number):
        words, segments = [], []
        for _ in range(int(rng.integers(2, 5))):
            name = (str(rng.choice(FIRST)), str(rng.choice(LAST)))
            segments.append((len(words), len(words) + 2, "LOC" if name in PLACES else "PER"))
            words += name
            segments.append((len(words), len(words) + 1, "O"))
            words.append(str(rng.choice(["met", "and", "left", "with"])))
        X.append(words)
        y.append(segments)
    return X, y


X, y = sentences(60, seed=1)
X_test, y_test = sentences(40, seed=2)
print(X[0])
print(y[0])

# %%
# Fit
# ---
# Tokens may be strings: the word is then the only feature of a token. ``segment_features`` is a
# function of the tokens, a start and an end that returns the features of the segment.

from partwise import SegmentTagger


def whole(words, start, end):
    """Return the features of one segment."""
    return {"on the list": tuple(words[start:end]) in PLACES, "length": str(end - start)}


tagger = SegmentTagger(l2=0.1, max_length=4, outside="O", segment_features=whole)
tagger.fit(X, y)
print(tagger.certificate_)

# %%
# Score
# -----
# ``score`` is the F1 of segments that are not outside.

plain = SegmentTagger(l2=0.1, max_length=4, outside="O").fit(X, y)
print(f"with features of segments {tagger.score(X_test, y_test):.3f}")
print(f"without                   {plain.score(X_test, y_test):.3f}")

# %%
# Predict
# -------

found = tagger.predict(X_test[:1])[0]
for start, end, label in found:
    print(f"{label:4}", " ".join(X_test[0][start:end]))

# %%
# Segments have exact probabilities too. With a threshold, all segments that reach it are listed,
# whether the best labelling has them or not.

for start, end, label, probability in tagger.predict_spans(X_test[:1], threshold=0.05)[0][:6]:
    print(f"{probability:.3f}  {label:4}", " ".join(X_test[0][start:end]))
