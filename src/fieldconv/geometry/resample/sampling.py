"""Fewer points on the same surface: farthest-point samples, nearest samples, interpolation back.

All use the front of `distances`, which stops at the limit of each vertex. With the distance to the nearest
sample as limit, a new farthest-point sample visits only the region it wins; with the distance to the k-th
nearest, the same front finds the k nearest samples of every vertex.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv._compiled import blocks, kernel
from fieldconv.geometry.geodesic.distances import length_between, spread_distance, triangles_around
from fieldconv.geometry.geodesic.geodesic_discs import geodesic_discs, tangent_frames, vertex_ids
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.numbering import by_position, position_order

Complexes = NDArray[np.complex128]


class Interpolation(NamedTuple):
    """How values at every vertex follow from those at its k nearest samples."""

    # Tuples have a method of this name.
    index: Ints  # type: ignore[assignment]  # (V, k) positions in the list of samples, nearest first
    weight: Floats  # (V, k) not negative; rows sum to 1
    transport: Floats  # (V, k) angle φ: e^{iφ} takes a vector in the sample's frame to the vertex's frame


def farthest_point_samples(
    mesh: Mesh, count: int, *, seed: int | None = None, metric: Literal["geodesic", "euclidean"] = "geodesic"
) -> Ints:
    """Return vertices chosen one by one, each as far as possible from those already chosen.

    Ties are decided by position, so that the samples do not depend on the numbering. In the geodesic metric
    every component gets a sample before any gets its second. Unreferenced vertices come last.

    Parameters
    ----------
    count : int
        Number of samples; with ``count`` ≥ V all vertices are chosen.
    seed : int, optional
        Draws the first sample, which is the vertex farthest from the centroid by default.
    metric : {"geodesic", "euclidean"}

    Returns
    -------
    (count,) int64
        Vertex ids in the order chosen: every prefix of the list is a coarser sampling.

    Examples
    --------
    >>> strip = Mesh([[0, 0, 0], [9, 0, 0], [9, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> sorted(strip.vertices[farthest_point_samples(strip, 2), 0].tolist())
    [0.0, 9.0]
    """
    if count < 1:
        raise ValueError(f"The number of samples must be at least 1, not {count}.")
    numbered = by_position(mesh)
    mesh = numbered.mesh
    referenced = np.flatnonzero(np.bincount(mesh.faces.ravel()))
    if seed is None:
        centroid = mesh.vertex_areas @ mesh.vertices / mesh.area
        first = referenced[np.linalg.norm(mesh.vertices[referenced] - centroid, axis=1).argmax()]
    else:
        first = referenced[np.random.default_rng(seed).integers(len(referenced))]
    usable = min(count, len(referenced))
    if metric == "geodesic":
        order = _geodesic_order(mesh.vertices, *triangles_around(mesh), first, usable)
    elif metric == "euclidean":
        order = _euclidean_order(mesh.vertices, referenced, first, usable)
    else:
        raise ValueError(f"Unknown metric {metric!r}: choose 'geodesic' or 'euclidean'.")
    spare = np.setdiff1d(np.arange(len(mesh.vertices)), referenced)
    return np.asarray(numbered.order[np.concatenate([order, spare[: count - usable]])])


def farthest_points(points: ArrayLike, count: int) -> Ints:
    """Return points chosen one by one, each as far in space as possible from those already chosen.

    The first is the one farthest from the mean of the points (n, 3). Ties are decided by position, so that
    the choice does not depend on the numbering. Returns min(count, n) rows in the order chosen: every prefix
    of the list is a coarser choice.

    Examples
    --------
    >>> farthest_points([[0, 0, 0], [1, 0, 0], [9, 0, 0], [4, 0, 0]], 3).tolist()
    [2, 0, 3]
    """
    given = np.ascontiguousarray(points, np.float64)
    number = position_order(given)
    ordered = given[number]
    first = np.linalg.norm(ordered - ordered.mean(0), axis=1).argmax()
    order: Ints = _euclidean_order(ordered, np.arange(len(ordered)), first, min(count, len(ordered)))
    return number[order]


def nearest_samples(mesh: Mesh, samples: ArrayLike, k: int = 4) -> tuple[Ints, Floats]:
    """Return the k geodesically nearest of the samples (S,), distinct vertex ids, of every vertex.

    Returns
    -------
    index : (V, k) int64
        Positions in ``samples``, nearest first; −1 where fewer than k can be reached along the surface.
    distance : (V, k) float64
        Geodesic distances, ascending; infinite where ``index`` is −1.

    Examples
    --------
    >>> strip = Mesh([[0, 0, 0], [9, 0, 0], [9, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> nearest_samples(strip, [0, 2], k=1)[0].ravel().tolist()
    [0, 1, 1, 0]
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}.")
    ids = _check_samples(samples, mesh)
    # In random order few fronts travel far; in the order of a sweep each would win all that lies ahead.
    order = np.random.default_rng(0).permutation(len(ids))
    index, distance = _nearest(mesh.vertices, *triangles_around(mesh), ids[order], k)
    return np.where(index < 0, -1, order[index]), distance


def sample_areas(mesh: Mesh, samples: ArrayLike) -> Floats:
    """Return the area of each sample, (S,) float64: that of the vertices nearest to it.

    The sum is the area of the mesh: vertices that reach no sample along the surface count for the sample
    nearest in space.

    Examples
    --------
    >>> strip = Mesh([[0, 0, 0], [9, 0, 0], [9, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> sample_areas(strip, [0, 2])
    array([4.5, 4.5])
    """
    ids = _check_samples(samples, mesh)
    owner = _reachable_or_nearest(mesh, ids, nearest_samples(mesh, ids, 1)[0])[:, 0]
    return np.bincount(owner, mesh.vertex_areas, minlength=len(ids)).astype(np.float64)


def interpolation(mesh: Mesh, samples: ArrayLike, k: int = 4) -> Interpolation:
    """Return weights that take values from samples to all vertices: scalars, or transported vectors.

    With x_i = log_v(sample i), the weights of vertex v minimise |Σ w_i x_i|² + λ Σ w_i² |x_i|⁴ over w ≥ 0,
    Σ w_i = 1: they reproduce linear functions where the samples surround the vertex, prefer near samples,
    and single out a sample at the vertex itself. A vertex that reaches fewer than k of the samples (S,),
    distinct vertex ids, repeats one with weight 0; one that reaches none takes the sample nearest in space.

    Returns
    -------
    Interpolation
        ``(weight * values[index]).sum(1)`` interpolates scalars, and
        ``(weight * np.exp(1j * transport) * vectors[index]).sum(1)`` tangent vectors as complex numbers.

    Examples
    --------
    >>> vertices = [[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [0.5, 1, 0]]
    >>> square = Mesh(vertices, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    >>> index, weight, _ = interpolation(square, [0, 1, 2, 3])
    >>> x = square.vertices[:4, 0]
    >>> (weight * x[index]).sum(1).round(1)
    array([0. , 2. , 2. , 0. , 0.5])
    """
    return nearby_samples(mesh, samples, k).interpolation()


class NearbySamples(NamedTuple):
    """The k nearest samples of every vertex, and where they lie; else as `Interpolation`."""

    index: Ints  # type: ignore[assignment]  # (V, k)
    transport: Floats
    position: Complexes  # (V, k) log_v(sample), in the frame of the vertex
    distance: Floats
    usable: Bools  # (V, k) False where a vertex reaches fewer samples and one is repeated

    def interpolation(self) -> Interpolation:
        """Return how values at every vertex follow from those at its samples."""
        return Interpolation(self.index, _weights(self.position, self.distance, self.usable), self.transport)

    def weights_near(self, vertex: Ints, offset: Complexes) -> Floats:
        """Return weights (n, k) at points near vertices (n,), at ``offset`` (n,) in their frames.

        Samples are seen from the point as if the surface were flat in between.
        """
        weight = np.empty((len(vertex), self.index.shape[1]))
        for rows in (slice(*block) for block in blocks(len(vertex), CHUNK)):
            own = vertex[rows]
            position = self.position[own] - offset[rows, None]
            weight[rows] = _weights(position, np.abs(position), self.usable[own])
        return weight


def nearby_samples(mesh: Mesh, samples: ArrayLike, k: int = 4) -> NearbySamples:
    """Return the k nearest samples of every vertex and where they lie, for weights of interpolation."""
    ids = _check_samples(samples, mesh)
    reached, distance = nearest_samples(mesh, ids, k)
    index = _reachable_or_nearest(mesh, ids, reached)
    position, transport = _guess_in_space(mesh, ids, index, distance)
    _see_along_surface(mesh, ids, reached, distance, position, transport)
    usable = reached >= 0
    usable[:, 0] = True
    return NearbySamples(index, np.where(usable, transport, 0.0), position, distance, usable)


CHUNK = 2**16  # points at a time, which bounds the memory
RIDGE = 0.05  # λ, in units of the mean distance: larger is smoother, smaller closer to linear


def _weights(position: Complexes, distance: Floats, usable: Bools) -> Floats:
    """Solve each vertex's small quadratic programme; samples with a negative weight drop out."""
    finite = np.where(usable & np.isfinite(distance), distance, 0.0)
    scale = finite.sum(1, keepdims=True) / usable.sum(1, keepdims=True)
    scale[scale == 0] = 1.0
    x = np.stack([position.real, position.imag], -1) / scale[..., None]
    # The Hessian is diagonal plus rank two, so the unconstrained minimiser is gain · (1 − x·tilt).
    at_sample = finite[:, :1] == 0
    gain = np.where(usable & ~at_sample, np.maximum(finite / scale, 1e-4) ** -4 / RIDGE, 0.0)
    while True:
        moment = np.einsum("vi,via,vib->vab", gain, x, x) + np.eye(2)
        tilt = np.linalg.solve(moment, np.einsum("vi,via->va", gain, x)[..., None])
        weight: Floats = gain * (1 - (x @ tilt)[..., 0])
        if (weight >= 0).all():
            break
        gain = np.where(weight < 0, 0.0, gain)
    weight[at_sample[:, 0], 0] = 1.0
    weight /= weight.sum(1, keepdims=True)
    return weight


def _guess_in_space(mesh: Mesh, samples: Ints, index: Ints, distance: Floats) -> tuple[Complexes, Floats]:
    """Guess log_vertex(sample) and the transport from positions and normals alone."""
    frames, normals = tangent_frames(mesh)
    across = np.cross(normals, frames)
    offset = mesh.vertices[samples][index] - mesh.vertices[:, None]
    flat = np.einsum("vkx,vx->vk", offset, frames) + 1j * np.einsum("vkx,vx->vk", offset, across)
    length = np.where(np.isfinite(distance), distance, np.linalg.norm(offset, axis=2))
    position = length * flat / np.where(flat == 0, 1.0, np.abs(flat))
    # The shortest rotation that takes the sample's normal n to the vertex's normal m turns a to
    # a − (a·m)(n + m) / (1 + n·m); where the normals are opposite, a is simply projected.
    n, a, m = normals[samples][index], frames[samples][index], normals[:, None]
    opening = 1 + (n * m).sum(2, keepdims=True)
    middle = np.where(opening > 1e-9, (n + m) / np.maximum(opening, 1e-9), m)
    turned = a - (a * m).sum(2, keepdims=True) * middle
    transport = np.arctan2(np.einsum("vkx,vx->vk", turned, across), np.einsum("vkx,vx->vk", turned, frames))
    return position, transport


def _see_along_surface(
    mesh: Mesh, samples: Ints, reached: Ints, distance: Floats, position: Complexes, transport: Floats
) -> None:
    """Replace guesses by positions and transports from geodesic discs around the samples, in place."""
    vertex, column = np.nonzero(reached >= 0)
    sample = reached[vertex, column]
    reach = np.zeros(len(samples))
    np.maximum.at(reach, sample, distance[vertex, column])
    # Samples of similar reach share a call, so that a few far ones do not enlarge every disc.
    level = np.ceil(np.log(np.maximum(reach, max(reach.max() / 20, 1e-300))) / np.log(1.5))
    for value in np.unique(level[reach > 0]):
        members = np.flatnonzero((level == value) & (reach > 0))
        discs = geodesic_discs(mesh, 1.02 * reach[members].max(), sources=samples[members])
        stride = len(mesh.vertices)
        key = np.repeat(members * stride, np.diff(discs.offsets)) + discs.targets
        wanted = np.flatnonzero(np.isin(sample, members))
        place = np.searchsorted(key, sample[wanted] * stride + vertex[wanted])
        place = np.minimum(place, len(key) - 1)
        found = key[place] == sample[wanted] * stride + vertex[wanted]
        at, place = (vertex[wanted[found]], column[wanted[found]]), place[found]
        # log_v(s) points back along the geodesic that leaves s in the direction θ.
        position[at] = -discs.distance[place] * np.exp(1j * (discs.angle[place] + discs.transport[place]))
        transport[at] = discs.transport[place]


def _reachable_or_nearest(mesh: Mesh, samples: Ints, reached: Ints) -> Ints:
    """Fill the gaps (−1): with the vertex's first sample, or with the nearest in space if it has none."""
    index = reached.copy()
    lost = np.flatnonzero(reached[:, 0] < 0)
    if len(lost):
        index[lost, 0] = scipy.spatial.cKDTree(mesh.vertices[samples]).query(mesh.vertices[lost])[1]
    return np.where(index < 0, index[:, :1], index)


def _check_samples(samples: ArrayLike, mesh: Mesh) -> Ints:
    ids = vertex_ids(samples, mesh, "samples")
    if len(ids) == 0:
        raise ValueError("Samples must be a list of at least one vertex id.")
    if len(np.unique(ids)) < len(ids):
        raise ValueError("Samples must be distinct, but a vertex is named twice.")
    return ids


@kernel
def _geodesic_order(vertices, offsets, corners, first, count):  # type: ignore[no-untyped-def]
    nearest = np.where(offsets[1:] > offsets[:-1], np.inf, -1.0)
    distance = np.full(len(vertices), np.inf)
    reached = np.empty(len(vertices), np.int64)
    order = np.empty(count, np.int64)
    for i in range(count):
        order[i] = first if i == 0 else np.argmax(nearest)
        for j in range(spread_distance(vertices, offsets, corners, order[i], nearest, distance, reached)):
            vertex = reached[j]
            nearest[vertex] = min(nearest[vertex], distance[vertex])
            distance[vertex] = np.inf
        nearest[order[i]] = -1.0  # not twice, even if all others are at distance 0
    return order


@kernel
def _euclidean_order(vertices, candidates, first, count):  # type: ignore[no-untyped-def]
    nearest = np.full(len(candidates), np.inf)
    order = np.empty(count, np.int64)
    chosen = np.searchsorted(candidates, first)
    for i in range(count):
        order[i] = candidates[chosen]
        for j in range(len(candidates)):
            nearest[j] = min(nearest[j], length_between(vertices, candidates[j], order[i]))
        nearest[chosen] = -1.0
        chosen = np.argmax(nearest)
    return order


@kernel
def _nearest(vertices, offsets, corners, samples, k):  # type: ignore[no-untyped-def]
    """The k nearest samples of each vertex, kept sorted while one sample after the other sends its front."""
    index = np.full((len(vertices), k), -1)
    best = np.full((len(vertices), k), np.inf)
    limit = np.full(len(vertices), np.inf)
    distance = np.full(len(vertices), np.inf)
    reached = np.empty(len(vertices), np.int64)
    for sample in range(len(samples)):
        for j in range(
            spread_distance(vertices, offsets, corners, samples[sample], limit, distance, reached)
        ):
            vertex = reached[j]
            if distance[vertex] < limit[vertex]:
                slot = k - 1
                while slot > 0 and best[vertex, slot - 1] > distance[vertex]:
                    best[vertex, slot] = best[vertex, slot - 1]
                    index[vertex, slot] = index[vertex, slot - 1]
                    slot -= 1
                best[vertex, slot] = distance[vertex]
                index[vertex, slot] = sample
                limit[vertex] = best[vertex, k - 1]
            distance[vertex] = np.inf
    return index, best
