"""
Classify: one label per example
===============================

A :class:`partwise.LinearClassifier` takes a dense or sparse matrix, and works wherever a classifier
of scikit-learn does. The data are scikit-learn's 1,797 images of digits.
"""

# %%
# Data
# ----
# Each image is a row of 64 pixels. Features should be about as large as 1, so the pixels are
# divided by their largest value.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=500, random_state=0)
print(len(X_train), "images to train on,", len(X_test), "to test on")

# %%
# Fit
# ---
# The loss is that of logistic regression. The certificate says between which two numbers the best
# possible objective lies.

from partwise import LinearClassifier

classifier = LinearClassifier(loss="log", l2=1.0, random_state=0).fit(X_train, y_train)
certificate = classifier.certificate_
print(f"optimum between {certificate.dual:.4f} and {certificate.primal:.4f}")
print(f"relative gap {certificate.relative_gap:.1e} after {classifier.n_iter_} passes")

# %%
# How it got there
# ----------------
# ``trace_`` has one row per epoch. The dual rises, the primal falls, and the optimum is always
# between them.

rows = [row for row in classifier.trace_ if np.isfinite(row.relative_gap) and row.relative_gap > 0]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.semilogy([row.passes for row in rows], [row.relative_gap for row in rows], "o-", ms=4)
axes.axhline(classifier.tol, color="0.5", ls="--", label="tol")
axes.set(xlabel="passes over the data", ylabel="relative gap")
axes.legend(frameon=False)
plt.show()

# %%
# Score
# -----
# The certificate is about the training data. Other data say how good the predictions are.

print(f"accuracy {classifier.score(X_test, y_test):.3f}")
probabilities = classifier.predict_proba(X_test[:1])[0]
best = np.argsort(-probabilities)[:3]
print(*(f"{classifier.classes_[k]}: {probabilities[k]:.3f}" for k in best))

# %%
# Look inside
# -----------
# There is one row of weights per class. As an image it shows which pixels speak for a digit (dark)
# and which against it (light).

figure, axes = plt.subplots(1, 5, figsize=(7, 1.7), layout="constrained")
largest = np.abs(classifier.coef_).max()
for digit, ax in enumerate(axes):
    ax.imshow(classifier.coef_[digit].reshape(8, 8), cmap="gray_r", vmin=-largest, vmax=largest)
    ax.set(title=f"a {digit}", xticks=[], yticks=[])
plt.show()

# %%
# Choose l2
# ---------
# A path fits many values of l2, each from where the last fit ended.

from partwise import LinearClassifierCV

chosen = LinearClassifierCV(cv=3, l2_max=10.0, factor=0.3, steps=7).fit(X_train, y_train)
print(f"l2 = {chosen.l2_:.3g}, accuracy {chosen.score(X_test, y_test):.3f}")

# %%
# Other losses
# ------------
# The hinge loss makes it a Crammer-Singer machine. Its gap closes more slowly, so less is asked
# for.

machine = LinearClassifier(loss="hinge", l2=1.0, tol=0.01, random_state=0).fit(X_train, y_train)
print(f"accuracy {machine.score(X_test, y_test):.3f}, gap {machine.certificate_.relative_gap:.1e}")
