"""
Graph: labels that depend on their neighbours
=============================================

A :class:`partwise.GraphLabeler` labels the vertices of a graph together. Here the vertices are the
pixels of small noisy pictures, and neighbouring pixels tend to have the same label.
"""

# %%
# Data
# ----
# Each picture of 7 by 4 pixels has a coast: land at the left, sea at the right. What is seen is
# the picture with much noise.

import matplotlib.pyplot as plt
import numpy as np

ROWS, COLUMNS = 7, 4
number = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
edges = np.concatenate([across, down])


def coasts(n, seed):
    """Draw pictures, as pairs (features of the vertices, edges), and their labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        shore = np.clip(np.cumsum(rng.integers(-1, 2, ROWS)) + COLUMNS // 2, 0, COLUMNS)
        land = np.arange(COLUMNS) < shore[:, None]
        seen = np.where(land, 0.5, -0.5) + rng.normal(0.0, 0.8, land.shape)
        X.append((np.stack([seen.ravel(), np.ones(seen.size)], axis=1), edges))
        y.append(["land" if pixel else "sea" for pixel in land.ravel()])
    return X, y


X, y = coasts(40, seed=1)
X_test, y_test = coasts(40, seed=2)

# %%
# Fit
# ---
# Edges without features of their own have one weight per pair of labels. The pictures are narrow,
# so the tree width is 4 and everything is computed exactly.

from partwise import GraphLabeler, LinearClassifier

labeler = GraphLabeler(l2=1.0).fit(X, y)
print(labeler.certificate_)

# %%
# Score
# -----
# A classifier that looks at one pixel at a time cannot know what its neighbours are.

pixels = np.concatenate([nodes for nodes, _ in X])
alone = LinearClassifier(l2=1.0).fit(pixels, np.concatenate(y))
single = alone.score(np.concatenate([nodes for nodes, _ in X_test]), np.concatenate(y_test))
print(f"with the edges {labeler.score(X_test, y_test):.3f}")
print(f"without        {single:.3f}")

# %%
# Look at one
# -----------

nodes = X_test[3][0]
panels = {
    "seen": nodes[:, 0],
    "right": np.array(y_test[3]) == "land",
    "predicted": np.array(labeler.predict(X_test[3:4])[0]) == "land",
    "pixel by pixel": alone.predict(nodes) == "land",
}
figure, axes = plt.subplots(1, 4, figsize=(7, 3.1), layout="constrained")
for ax, (title, values) in zip(axes, panels.items()):
    ax.imshow(np.asarray(values, float).reshape(ROWS, COLUMNS), cmap="gray")
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# What is known
# -------------
# If some labels are known, the others take them into account.

index = list(labeler.classes_).index("land")
before = labeler.predict_marginals(X_test[3:4])[0]
corner = int(number[0, -1])
print(f"probability that the corner is land: {before[corner][index]:.3f}")
free = labeler.predict(X_test[3:4])[0]
forced = labeler.predict(X_test[3:4], fixed=[{corner: "land"}])[0]
print("labels that change if it is:", sum(a != b for a, b in zip(free, forced)))
