"""
Constituency: bracketed phrases
===============================

A :class:`partwise.ConstituencyParser` reads its grammar from the trees and finds the best
bracketing that the grammar allows. The data are drawn by :func:`partwise.datasets.phrase_trees`;
files as in the Penn Treebank are read by :func:`partwise.formats.read_brackets`.
"""

# %%
# Data
# ----

from partwise.datasets import phrase_trees

train, test = phrase_trees(100, seed=1), phrase_trees(50, seed=2)
print(train[0])

# %%
# Fit
# ---
# Sentences of this grammar are ambiguous: in "sees the dog with a telescope" the last phrase
# belongs to the verb or to the noun.

from partwise import ConstituencyParser

parser = ConstituencyParser(l2=0.5).fit(train)
print(parser.certificate_)
print("labels of phrases:", *parser.classes_)

# %%
# Score
# -----
# Brackets are counted as evalb counts them.

from partwise.metrics import bracket_scores

predicted = parser.predict(test)
scores = bracket_scores(test, predicted)
print(f"precision {scores.precision:.3f}, recall {scores.recall:.3f}, F1 {scores.f1:.3f}")

# %%
# Parse
# -----
# A sentence is a tree whose phrases are not looked at, or a list of words with their tags.

words = [("Kim", "NNP"), ("sees", "VB"), ("the", "DT"), ("dog", "NN"), ("with", "IN"), ("a", "DT")]
words += [("telescope", "NN"), (".", ".")]
for tree, score in parser.predict([words], k=2)[0]:
    print(f"{score:8.3f}  {tree}")

# %%
# How sure is it?
# ---------------
# The probability of a phrase is the sum over all trees that have it.

for start, end, label, probability in parser.predict_spans([words], threshold=0.05)[0]:
    text = " ".join(word for word, tag in words[start:end])
    print(f"{probability:.3f}  {label:4} {text}")
