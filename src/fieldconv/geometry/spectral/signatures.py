"""Eigenfunctions of the Laplacian, and the intrinsic point signatures made of them.

robust_laplacian gives a Laplacian with non-negative weights on any mesh: non-manifold, of several components,
badly shaped. Point clouds are triangulated first, which is more accurate than its own Laplacian of a cloud.
Signatures are computed at unit area, at the same times and energies for every shape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import robust_laplacian
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.sparse import csc_matrix, csr_array, csr_matrix, diags
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigsh

from fieldconv._arrays import Floats, Ints
from fieldconv._process import one_blas_thread
from fieldconv.geometry.geodesic.geodesic_discs import tangent_frames
from fieldconv.geometry.mesh.mesh import Mesh, MeshError
from fieldconv.geometry.resample.pointcloud import triangulate
from fieldconv.geometry.spectral.lanczos import factorise, is_complete, lowest_eigenpairs

SIGNATURE_FUNCTIONS = 128  # eigenfunctions that resolve the default times and energies of signatures
MAX_DENSE = 3000  # vertices up to which the dense solver is the last resort
EQUAL_VALUES = 1e-5  # relative difference of eigenvalues that are equal but for rounding of positions
MAX_ZERO = 1e-6  # eigenvalues of a shape of unit area below this count as zero


class Eigenbasis(NamedTuple):
    """Lowest eigenpairs of the Laplacian, −Δφ = λφ, orthonormal in the areas: φᵀ diag(areas) φ = 1."""

    values: Floats
    """(k,) λ, ascending from 0 (once per component)."""
    functions: Floats
    """(V, k) φ; zero at unreferenced vertices."""
    areas: Floats
    """(V,) area of each vertex or point."""
    components: Ints
    """(V,) connected component of each vertex; −1 at unreferenced ones."""

    def lowest(self, k: int, *, whole: bool = False) -> Eigenbasis:
        """Return the first ``k``, and one more for each further component.

        ``whole`` leaves out the last of them if they share an eigenvalue with the next one: rounding decides
        which of their functions come first.

        Examples
        --------
        >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
        ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
        >>> basis = eigenbasis(tetrahedron)  # zero, and three that are equal
        >>> len(basis.lowest(3).values), len(basis.lowest(3, whole=True).values)
        (3, 1)
        """
        count = k + int(self.components.max(initial=0))
        if whole and 0 < count < len(self.values):
            below = int(np.searchsorted(self.values, self.values[count] * (1 - EQUAL_VALUES)))
            count = min(below, count) or count
        return self._replace(values=self.values[:count], functions=self.functions[:, :count])


Shape = Mesh | ArrayLike | Eigenbasis


def eigenbasis(shape: Mesh | ArrayLike, k: int = SIGNATURE_FUNCTIONS) -> Eigenbasis:
    """Return the lowest ``k`` eigenvalues and eigenfunctions of a mesh's or point cloud's Laplacian.

    Parameters
    ----------
    shape : Mesh or (V, 3) points
    k : int
        Number of eigenpairs; fewer if there are fewer vertices. Each component has an eigenvalue zero, and
        all but one of these zeros are returned in addition.

    Returns
    -------
    Eigenbasis
        The largest entry of each function is positive, so that the result is reproducible.

    Examples
    --------
    >>> tetrahedron = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ...                    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> eigenbasis(tetrahedron).functions.shape
    (4, 4)
    """
    if k < 1:
        raise ValueError(f"The number of eigenfunctions must be at least 1, not {k}.")
    mesh = shape if isinstance(shape, Mesh) else triangulate(shape)
    used, stiffness, mass = laplacian(mesh)
    count, label = connected_components(stiffness, directed=False)
    total = mass.sum()
    values, compact = _of_components(stiffness, mass / total, label, min(k + count - 1, len(used)))
    compact /= np.sqrt(total)
    signs = np.sign(compact[np.abs(compact).argmax(0), np.arange(len(values))])
    functions = np.zeros((len(mesh.vertices), len(values)))
    functions[used] = compact * signs
    areas = np.zeros(len(mesh.vertices))
    areas[used] = mass
    components = np.full(len(mesh.vertices), -1)
    components[used] = label
    return Eigenbasis(np.maximum(values, 0.0) / total, functions, areas, components)


def heat_kernel_signature(
    shape: Shape, dims: int = 16, *, k: int = SIGNATURE_FUNCTIONS, times: ArrayLike | None = None
) -> Floats:
    """Return the heat that stays at each point (V, dims), at unit area: Σ e^{−λt} φ(x)² / Σ e^{−λt}.

    Divided by the heat trace as in Sun et al. (2009), every column has mean 1 over each component. Isometries
    and uniform scaling change nothing.

    Parameters
    ----------
    shape : Mesh, (V, 3) points, or an Eigenbasis
    dims : int
        Number of times, logarithmically spaced from 0.005 to 0.5 (at unit area).
    k : int
        Number of eigenfunctions.
    times : (dims,) float, optional
        Other times, at unit area.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> heat_kernel_signature(tetrahedron, dims=2).round(6)[0]
    array([1., 1.])
    """
    basis = _at_unit_area(shape, k)
    moments = np.geomspace(0.005, 0.5, dims) if times is None else np.asarray(times, np.float64)
    return _mixture(-basis.values[:, None] * moments, basis)


def local_heat(
    shape: Shape, dims: int = 8, *, k: int = SIGNATURE_FUNCTIONS, times: ArrayLike | None = None
) -> Floats:
    """Return the heat that stays at each point, compared with a plane: 4πt Σ e^{−λt} φ(x)², at short times.

    About 1 + tK/3 where the Gauss curvature is K, 2 at a straight rim, and more on limbs that heat has gone
    around. Nothing is divided by a sum over the shape, so what is farther away than about √(8t) matters only
    through the scale of the shape.

    Parameters are those of `heat_kernel_signature`; the times are 0.004 to 0.06 by default. Unreferenced
    vertices get 0.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> local_heat(tetrahedron, times=[10 / (4 * np.pi)]).round(1)[0]  # all heat is even by then
    array([10.])
    """
    basis = _at_unit_area(shape, k)
    moments = np.geomspace(0.004, 0.06, dims) if times is None else np.asarray(times, np.float64)
    return 4 * np.pi * moments * (basis.functions**2 @ np.exp(-basis.values[:, None] * moments))


def wave_kernel_signature(
    shape: Shape, dims: int = 16, *, k: int = SIGNATURE_FUNCTIONS, energies: ArrayLike | None = None
) -> Floats:
    """Return the probability of a quantum particle at each point: Σ g(e − log λ) φ(x)² / Σ g(e − log λ).

    As in Aubry et al. (2011), g is a Gaussian whose width is 7 % of the range of energies, and λ = 0 takes
    no part; here too the shape has unit area and every column has mean 1 over each component.

    Parameters are those of `heat_kernel_signature`, with log-energies e in place of times. They are evenly
    spaced from log 4π to log 4πk, where Weyl's law expects the k-th eigenvalue, less two widths.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> wave_kernel_signature(tetrahedron, dims=2).round(6)[0]
    array([1., 1.])
    """
    basis = _at_unit_area(shape, k)
    lowest, highest = np.log(4 * np.pi), np.log(4 * np.pi * max(k, 2))
    width = 0.07 * (highest - lowest)
    if energies is None:
        energies = np.linspace(lowest, highest - 2 * width, dims)
    with np.errstate(divide="ignore"):
        heights = np.log(np.where(basis.values > MAX_ZERO, basis.values, 0.0))
    gap = (heights[:, None] - np.asarray(energies, np.float64)) / width
    return _mixture(-0.5 * gap**2, basis)


def _at_unit_area(shape: Shape, k: int) -> Eigenbasis:
    basis = shape if isinstance(shape, Eigenbasis) else eigenbasis(shape, k + 1).lowest(k, whole=True)
    area = basis.areas.sum()
    return basis._replace(
        values=basis.values * area, functions=basis.functions * np.sqrt(area), areas=basis.areas / area
    )


def _mixture(exponents: Floats, basis: Eigenbasis) -> Floats:
    """Squared eigenfunctions, mixed with weights e^exponent, of mean 1 over each component it resolves."""
    highest = exponents.max(0)
    weights = np.exp(exponents - np.where(np.isfinite(highest), highest, 0.0))
    raw = basis.functions**2 @ (weights / np.maximum(weights.sum(0), 1e-300))
    used = basis.components >= 0
    belongs = csr_array((basis.areas[used], (basis.components[used], np.flatnonzero(used))))
    mean = (belongs @ raw[: belongs.shape[1]] / belongs.sum(1)[:, None])[basis.components]
    return np.asarray(np.where(mean > 1e-6, raw / np.maximum(mean, 1e-6), 1.0) * used[:, None])


def laplacian(mesh: Mesh) -> tuple[Ints, csc_matrix, Floats]:
    """Return the vertices in use, their stiffness matrix and their areas."""
    used, faces = np.unique(mesh.faces, return_inverse=True)
    stiffness, mass = robust_laplacian.mesh_laplacian(mesh.vertices[used], faces.reshape(-1, 3))
    areas = mass.diagonal()
    if not (np.isfinite(stiffness.data).all() and np.isfinite(areas).all() and areas.sum() > 0):
        raise MeshError(
            f"{mesh.name or 'mesh'}: the Laplacian is not finite; normalise or repair the mesh first."
        )
    return used, csc_matrix(stiffness), np.maximum(areas, 1e-12 * areas.mean())


def vertex_gradients(mesh: Mesh, values: ArrayLike) -> NDArray[np.complex128]:
    """Return the gradient of functions given at the vertices, in each vertex's tangent frame.

    A function, a column of ``values`` (V,) or (V, k), is linear on each triangle. Its gradient at a vertex,
    complex and of the same shape, is the mean over the triangles around it, weighted by their areas, and
    projected to the tangent plane; zero at vertices without triangles.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> np.abs(vertex_gradients(square, 3 * square.vertices[:, 0])).round(9).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    functions = np.asarray(values, np.float64)
    corners = mesh.vertices[mesh.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    doubled = np.linalg.norm(normal, axis=1)
    usable = doubled > 0
    unit = normal / np.where(usable, doubled, 1)[:, None]
    # ∇f · area = ½ Σ fᵢ n × (the side opposite corner i); summed over the triangles around each vertex.
    sides = np.roll(corners, 1, axis=1) - np.roll(corners, -1, axis=1)
    weighted = 0.5 * np.cross(unit[:, None], sides) * usable[:, None, None]
    frames, normals = tangent_frames(mesh)
    across = np.cross(normals, frames)
    count = len(mesh.vertices)
    around = np.repeat(mesh.faces, 3, axis=1).ravel()  # the vertex that receives
    corner = np.tile(mesh.faces, 3).ravel()  # the vertex whose value is read
    flow = np.tile(weighted, (1, 3, 1)).reshape(-1, 3)
    along = (flow * frames[around]).sum(1) + 1j * (flow * across[around]).sum(1)
    total = np.bincount(mesh.faces.ravel(), np.repeat(doubled / 2, 3), minlength=count)
    operator = csr_array((along, (around, corner)), (count, count))
    summed = operator @ functions
    share = 1 / np.where(total > 0, total, 1.0)
    return np.asarray(summed * (share[:, None] if functions.ndim > 1 else share))


def _of_components(stiffness: csc_matrix, mass: Floats, label: Ints, k: int) -> tuple[Floats, Floats]:
    """Lowest k solutions of stiffness φ = λ mass φ, for unit total mass, each on one component."""
    # Components are solved one by one: equal eigenvalues of several would be hard to tell apart.
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    if len(members) == 1:
        return _eigenpairs(stiffness, mass, k)
    rows = csr_matrix(stiffness)
    parts = [csc_matrix(rows[own][:, own]) for own in members]
    # By Weyl's law each has about as many as its share of the area.
    wanted = [min(len(own), k, int(1.2 * k * mass[own].sum()) + 5) for own in members]
    found = [_eigenpairs(part, mass[own], n) for part, own, n in zip(parts, members, wanted, strict=True)]
    while True:
        values = np.concatenate([own for own, _ in found])
        limit = np.sort(values)[k - 1] if len(values) >= k else np.inf
        max_wanted = [min(len(own), k) for own in members]
        short = [i for i, (own, _) in enumerate(found) if wanted[i] < max_wanted[i] and own[-1] < limit]
        if not short:
            break
        for i in short:
            wanted[i] = min(max_wanted[i], 2 * wanted[i])
            found[i] = _eigenpairs(parts[i], mass[members[i]], wanted[i])
    chosen = np.argsort(values, kind="stable")[:k]
    functions = np.zeros((len(mass), k))
    first = np.cumsum([0, *wanted])
    for i, own in enumerate(members):
        here = np.flatnonzero((chosen >= first[i]) & (chosen < first[i + 1]))
        functions[np.ix_(own, here)] = found[i][1][:, chosen[here] - first[i]]
    return values[chosen], functions


def _eigenpairs(stiffness: csc_matrix, mass: Floats, k: int) -> tuple[Floats, Floats]:
    """Lowest k solutions of stiffness φ = λ mass φ on a connected shape."""
    count = len(mass)
    root = np.sqrt(mass)
    # Symmetric in φ·√mass: an ordinary eigenvalue problem.
    scaled = (diags(1 / root) @ stiffness @ diags(1 / root)).tocsc()
    # Small matrix products gain nothing from threads, and lose a lot where processes share the cores.
    with one_blas_thread():
        found = _by_sparse_solvers(scaled, k) if count > max(4 * k, 200) else None
        values, vectors = found or eigh(scaled.toarray(), subset_by_index=(0, k - 1))
    return values, vectors / root[:, None]


def _by_sparse_solvers(matrix: csc_matrix, k: int) -> tuple[Floats, Floats] | None:
    """Lowest k eigenpairs; None if some may be missing, and the dense solver can find them."""
    found = None
    for shift in (1.0, 100.0):  # below zero, where the matrix is safely invertible
        try:
            factors = factorise(matrix, shift)
            exact = lowest_eigenpairs(matrix, factors, shift, k)
            if exact is not None:
                return exact
            values, vectors = by_arpack(matrix, factors, shift, k + 1)
        except (ArpackError, RuntimeError):  # no convergence, or singular to rounding
            continue
        found = values[:k], vectors[:, :k]
        if is_complete(matrix, values):
            return found
    return found if matrix.shape[0] > MAX_DENSE else None


def by_arpack(matrix: csc_matrix, factors: SuperLU, shift: float, k: int) -> tuple[Floats, Floats]:
    """Return the same as `lowest_eigenpairs`: slower, but more reliable for repeated eigenvalues."""
    inverse = LinearOperator(matrix.shape, factors.solve, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    values, vectors = eigsh(matrix, k, sigma=-shift, OPinv=inverse, v0=start)
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]
