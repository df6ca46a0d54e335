"""
Tag: one label per token
========================

A :class:`partwise.SequenceTagger` labels all tokens of a sentence together. The data are sentences
of an invented language that looks like English, with phrases and names to be found.
"""

# %%
# Data
# ----
# ``tagged_text`` returns what a reader of column files would return: words, parts of speech and
# labels. A label such as ``B-PER`` begins the name of a person, and ``I-PER`` continues it.

from partwise.datasets import tagged_text

train, test = tagged_text(400, seed=1), tagged_text(200, seed=2)
words, tags = train.split(train.fields[0])[0], train.split(train.fields[1])[0]
for token in list(zip(words, tags, train.split(train.labels)[0]))[:6]:
    print(*token)

# %%
# Features
# --------
# A token is a dict. Strings become indicators, and numbers are values. Look at the word, its
# ending, its part of speech, and its neighbours.


def features(words, tags):
    """Return one dict per token."""
    sentence = []
    for t, (word, tag) in enumerate(zip(words, tags)):
        token = {"word": word.lower(), "ending": word[-2:], "tag": tag, "title": word.istitle()}
        token["tag before"] = tags[t - 1] if t else "start"
        token["word before"] = words[t - 1].lower() if t else "start"
        token["tag after"] = tags[t + 1] if t + 1 < len(tags) else "end"
        token["word after"] = words[t + 1].lower() if t + 1 < len(words) else "end"
        sentence.append(token)
    return sentence


def examples(text):
    """Return the tokens and the labels of all sentences."""
    columns = [text.split(field) for field in text.fields]
    return [features(*sentence) for sentence in zip(*columns)], text.split(text.labels)


X, y = examples(train)
X_test, y_test = examples(test)
print(X[0][1])

# %%
# Fit
# ---
# ``constraints="BIO"`` forbids that ``I-PER`` follows anything but ``B-PER`` and ``I-PER``.

from partwise import SequenceTagger

tagger = SequenceTagger(l2=0.3, constraints="BIO").fit(X, y)
print(tagger.certificate_)

# %%
# Score
# -----
# Spans count more than tokens: a name is right only if all of it is.

from partwise.metrics import span_scores

predicted = tagger.predict(X_test)
print(f"token accuracy {tagger.score(X_test, y_test):.3f}")
print(span_scores(y_test, predicted).table())

# %%
# How sure is it?
# ---------------
# A tagger of the log loss gives exact probabilities: of labels, of spans, and of whole sentences.

for start, end, label, probability in tagger.predict_spans(X_test[:1])[0][:5]:
    phrase = " ".join(test.split(test.fields[0])[0][start:end])
    print(f"{probability:.3f}  {label:4}  {phrase}")

# %%
# The three best labellings differ in a few places.

for labels, score in tagger.predict(X_test[:1], k=3)[0]:
    print(f"{score:8.3f}", *labels[:10])

# %%
# Look inside
# -----------
# ``transitions_`` has a weight for each pair of labels. Dark pairs are likely.

import matplotlib.pyplot as plt
import numpy as np

figure, axes = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
largest = np.abs(tagger.transitions_).max()
picture = axes.imshow(tagger.transitions_, cmap="gray_r", vmin=-largest, vmax=largest)
places = range(len(tagger.classes_))
axes.set_xticks(places, tagger.classes_, rotation=90, fontsize=8)
axes.set_yticks(places, tagger.classes_, fontsize=8)
axes.set(xlabel="label", ylabel="label before")
figure.colorbar(picture, label="weight")
plt.show()

# %%
# The strongest features of a label:

column = [str(label) for label in tagger.classes_].index("B-PER")
names = list(tagger.vocabulary_)
for feature in np.argsort(-tagger.coef_[column])[:6]:
    print(f"{tagger.coef_[column, feature]:6.3f}  {names[feature]}")

# %%
# Keep it
# -------
# The features travel with the model, so that ``load_model`` gives the same labels.

import tempfile
from pathlib import Path

from partwise import load_model, save_model

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "names.model"
    save_model(tagger, path)
    print(load_model(path).predict(X_test) == predicted)
