"""
Dependencies: a head for every word
===================================

A :class:`partwise.DependencyParser` finds the best tree of all, projective or not. The data are
drawn from a small grammar by :func:`partwise.datasets.dependency_trees`; files in the formats
CoNLL-X and CoNLL-U are read by :func:`partwise.formats.read_conll`.
"""

# %%
# Data
# ----
# Words count from 1, and the head 0 is the root.

from partwise.datasets import dependency_trees

train, test = dependency_trees(120, seed=1), dependency_trees(60, seed=2)
sentence = test[1]
for number, row in enumerate(zip(sentence.form, sentence.pos, sentence.head, sentence.deprel), 1):
    print(number, *row)

# %%
# Fit
# ---
# ``labelled=True`` predicts relations too. The features of arcs are built in: words and parts of
# speech at both ends, around and between them.

from partwise import DependencyParser

parser = DependencyParser(l2=0.5, labelled=True).fit(train)
print(parser.certificate_)

# %%
# Score
# -----
# The labelled attachment score is the share of words whose head and relation are right.

print(f"labelled attachment {parser.score(test):.3f}")

# %%
# Draw a tree
# -----------
# An arc leads from a head to each of its words.

import matplotlib.pyplot as plt
import numpy as np


def draw(words, heads, labels):
    """Draw the arcs above the words."""
    _, axes = plt.subplots(figsize=(0.85 * len(words) + 0.6, 2.8), layout="constrained")
    for word, (head, label) in enumerate(zip(heads, labels), 1):
        axes.text(word, -0.12, words[word - 1], ha="center", va="top")
        if head == 0:
            axes.annotate("", (word, 0), (word, 2.6), arrowprops={"arrowstyle": "->"})
            axes.text(word + 0.1, 2.4, "root", fontsize=8)
            continue
        angle = np.linspace(0, np.pi, 50)
        height = 0.45 * abs(head - word) ** 0.9
        middle, radius = (head + word) / 2, abs(head - word) / 2 - 0.08
        axes.plot(middle + radius * np.cos(angle), height * np.sin(angle), color="0.2", lw=1)
        axes.plot(word + 0.08 * np.sign(head - word), 0.02, "kv", ms=4)
        axes.text(middle, height + 0.06, label, ha="center", fontsize=8)
    axes.set(xlim=(0.4, len(words) + 0.6), ylim=(-0.5, 2.8))
    axes.axis("off")


heads, relations = zip(*parser.predict([sentence])[0])
draw(sentence.form, heads, relations)
plt.show()

# %%
# How sure is it?
# ---------------
# ``predict_marginals`` has the probability of every arc. Rows are words and columns heads.

table = parser.predict_marginals([sentence])[0]
print(np.round(table[:4], 3))

# %%
# What is known
# -------------
# Say that the parser is wrong about one word, and its head is known. The best tree among those
# with this arc may change in other places too.

(best, first), (second, next_score) = parser.predict([sentence], k=2)[0]
print(f"scores of the two best trees: {first:.3f}, {next_score:.3f}")
word = next(i for i, arcs in enumerate(zip(best, second), 1) if arcs[0] != arcs[1])
head = second[word - 1][0]
print(f"head of {sentence.form[word - 1]!r}: {best[word - 1][0]}, or {head} in the second tree")
known = parser.predict([sentence], fixed=[{word: head}])[0]
print("heads if that is known:", *(head for head, relation in known))
