"""Arrange descriptors in the plane by t-SNE, for the report."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldconv._process import one_blas_thread, process_unchanged


@process_unchanged()  # importing scikit-learn sets environment variables
def arrange(descriptors: ArrayLike, labels: ArrayLike) -> NDArray[np.float32] | None:
    """Return points in the plane; similar descriptors lie close together.

    Parameters
    ----------
    descriptors : (n, d) floats
    labels : (n,) ints
        Class of each descriptor; negative means none.

    Returns
    -------
    (n, 2) float32 or None
        None if scikit-learn is missing, no point has a class, or fewer than ten descriptors differ.
    """
    rows, classes = np.asarray(descriptors, dtype=np.float64), np.asarray(labels)
    if len(rows) != len(classes):
        raise ValueError(f"{len(rows)} descriptors and {len(classes)} labels; give one label for each")
    if not (classes >= 0).any():
        return None
    rounded = np.round(rows / max(np.abs(rows).max(), 1e-30), 5)
    if len(np.unique(rounded, axis=0)) < 10:  # t-SNE crashes on the descriptors of a collapsed network
        return None
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        return None
    # Thirty principal components are much faster and nearly as good; threads would only compete.
    centred = rows - rows.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    with one_blas_thread():
        perplexity = min(30.0, (len(rows) - 1) / 3)
        places = TSNE(perplexity=perplexity, init="pca", max_iter=500, random_state=0).fit_transform(
            centred @ axes[:, -30:]
        )
    arranged: NDArray[np.float32] = places.astype(np.float32)
    return arranged
