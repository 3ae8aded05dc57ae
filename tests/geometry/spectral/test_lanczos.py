from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.sparse import block_diag, csc_matrix, identity

import shapes
from fieldconv.geometry import Mesh
from fieldconv.geometry.spectral import signatures as spectral
from fieldconv.geometry.spectral.lanczos import factorise, lowest_eigenpairs


def lowest(matrix, k, shift=1.0):
    return lowest_eigenpairs(matrix, factorise(matrix, shift), shift, k)


def laplacian(vertices, faces):
    """Stiffness matrix, scaled by areas, so that its eigenvalues are those of the surface."""
    _, stiffness, mass = spectral.laplacian(Mesh(vertices, faces).normalised())
    root = 1 / np.sqrt(mass)
    return csc_matrix(stiffness.multiply(root[:, None]).multiply(root[None]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(200, 600), k=st.integers(1, 40))
def test_pairs_are_those_of_the_dense_solver(seed, n, k):
    vertices, faces = shapes.plane(n)
    bumps = np.random.default_rng(seed).normal(scale=0.02, size=len(vertices))
    matrix = laplacian(vertices + bumps[:, None] * [0, 0, 1], faces)
    values, vectors = lowest(matrix, k)
    np.testing.assert_allclose(values, eigh(matrix.toarray(), eigvals_only=True)[:k], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-7)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-4)


def test_hundreds_of_eigenfunctions_of_a_surface():
    vertices, faces = shapes.plane(1500)
    matrix = laplacian(vertices, faces)
    values, vectors = lowest(matrix, 200)
    np.testing.assert_allclose(values, eigh(matrix.toarray(), eigvals_only=True)[:200], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(200), atol=1e-7)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-5)


def test_an_eigenvalue_found_too_rarely_is_noticed():
    # Two equal blocks: every eigenvalue is there twice, and one starting vector sees it once.
    block = laplacian(*shapes.plane(300))
    assert lowest(block, 5) is not None
    found = lowest(csc_matrix(block_diag([block, block])), 5)
    assert found is None or np.allclose(found[0][::2][:2], found[0][1::2][:2])


@pytest.mark.parametrize("k", [3, 12, 36])
def test_no_eigenvalue_of_a_torus_is_missing(k):
    # Most of them come in pairs.
    mesh = Mesh(*shapes.torus(around=40, across=20)).normalised()
    expected = eigh(laplacian(mesh.vertices, mesh.faces).toarray(), eigvals_only=True)[:k]
    np.testing.assert_allclose(spectral.eigenbasis(mesh, k).values, expected, rtol=1e-6, atol=1e-7)


def test_pivoted_factors_are_rejected():
    matrix = csc_matrix(np.diag(np.arange(50.0)))
    factors = factorise(matrix, 1.0)

    class Pivoted:
        perm_r, perm_c = factors.perm_r, factors.perm_r[::-1]

    assert lowest_eigenpairs(matrix, Pivoted(), 1.0, 3) is None


def side_by_side(vertices, faces, copies):
    apart = 3 * np.ptp(vertices[:, 0])
    return Mesh(
        np.concatenate([vertices + np.array([apart * i, 0, 0]) for i in range(copies)]),
        np.concatenate([faces + len(vertices) * i for i in range(copies)]),
    )


@pytest.mark.parametrize(("copies", "k"), [(40, 1), (100, 5), (30, 128)])
def test_equal_components_have_all_their_eigenfunctions(copies, k):
    one = shapes.icosphere(0) if k < 100 else shapes.icosphere(1)
    basis = spectral.eigenbasis(side_by_side(*one, copies), k)
    single = spectral.eigenbasis(Mesh(*one), 1000).values
    np.testing.assert_allclose(basis.values, np.repeat(single, copies)[: k + copies - 1], atol=1e-6)
    gram = basis.functions.T @ (basis.areas[:, None] * basis.functions)
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-9)


def test_components_of_other_sizes():
    # Of the large one nearly all eigenfunctions are among the lowest, of the small one few.
    large, small = shapes.plane(900), shapes.plane(300)
    vertices = np.concatenate([large[0], 0.2 * small[0] + 5])
    both = Mesh(vertices, np.concatenate([large[1], small[1] + len(large[0])])).normalised()
    expected = eigh(laplacian(both.vertices, both.faces).toarray(), eigvals_only=True)[:61]
    np.testing.assert_allclose(spectral.eigenbasis(both, 60).values, expected, rtol=1e-8, atol=1e-7)


def test_a_chain_of_like_shapes_has_clusters_of_eigenvalues():
    vertices, faces = shapes.icosphere(1)
    mesh = side_by_side(vertices, faces, 20)
    right, left = vertices[:, 0].argmax(), vertices[:, 0].argmin()
    beside = next(v for face in faces for v in face if left in face and v != left)
    n = len(vertices)
    bridges = [[right + n * (i - 1), left + n * i, beside + n * i] for i in range(1, 20)]
    chain = Mesh(mesh.vertices, np.concatenate([mesh.faces, bridges])).normalised()
    expected = eigh(laplacian(chain.vertices, chain.faces).toarray(), eigvals_only=True)[:60]
    np.testing.assert_allclose(spectral.eigenbasis(chain, 60).values, expected, rtol=1e-6, atol=1e-6)


def test_matrices_of_few_eigenspaces_are_rejected():
    for matrix in (identity(300, format="csc"), csc_matrix(np.diag(np.repeat([1.0, 2.0, 3.0], 100)))):
        assert lowest(matrix, 5) is None
