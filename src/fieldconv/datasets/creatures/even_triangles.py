"""Even, well-shaped triangles: split, collapse, flip and relax a closed mesh on the solid's surface."""

from __future__ import annotations

import numpy as np

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import copy_into, kernel
from fieldconv.datasets.creatures.solid import Solid, field, lattice_surface, project, project_all
from fieldconv.geometry.damage.lattice import random_turn
from fieldconv.geometry.mesh.halfedge import (
    Net,
    collapse_edges,
    collapse_slivers,
    edge_ratio,
    edge_ratios,
    flip_edges,
    make_net,
    net_arrays,
    split_edge,
    step_to_middle,
    worst_quality,
)
from fieldconv.geometry.mesh.triangles import least_angle, vertex_areas

GOOD_ANGLE = 20.0  # degrees; a mesh without smaller angles is not tried again
BLUR = 0.2  # normals are means over this share of the edge length, so that creases hardly affect them


@kernel
def split_edges(net: Net, solid: Solid, halves: Ints, longest: float, max_count: int) -> int:
    """Split edges above ``longest`` in the order given, at most ``max_count``; return their number."""
    done = 0
    distance = np.empty(len(solid.parent))
    for h in halves:
        if done == max_count or net.used[0] == len(net.point):
            break
        a, b = net.start[h], net.start[net.twin[h]]
        if a < 0 or edge_ratio(net, a, b) < longest:
            continue
        m = split_edge(net, h)
        normal = net.normal[m]
        normal[0], normal[1], normal[2] = project(solid, net.point[m], distance, 4, BLUR * net.size[m])
        done += 1
    return done


@kernel
def relax(net: Net, solid: Solid, passes: int) -> None:
    """Move vertices along the surface towards the middle of their triangles, small ones counting more."""
    distance = np.empty(len(solid.parent))
    old = np.empty(3)
    for _ in range(passes):
        for v in range(net.used[0]):
            if net.edge[v] < 0:
                continue
            point, normal = net.point[v], net.normal[v]
            copy_into(point, old)
            before = worst_quality(net, v)
            mx, my, mz = step_to_middle(net, v)
            point[0] += mx
            point[1] += my
            point[2] += mz
            ox, oy, oz = normal[0], normal[1], normal[2]
            normal[0], normal[1], normal[2] = project(solid, point, distance, 3, BLUR * net.size[v])
            if worst_quality(net, v) < min(before, 0.25):
                copy_into(old, point)
                normal[0], normal[1], normal[2] = ox, oy, oz


@kernel
def improve_worst(net: Net, solid: Solid, goal: float, passes: int) -> int:
    """Move vertices of triangles worse than ``goal`` so that the worst improve; return how many remain."""
    distance = np.empty(len(solid.parent))
    old, best = np.empty(3), np.empty(3)
    bad = 0
    for _ in range(passes):
        bad = 0
        for v in range(net.used[0]):
            if net.edge[v] < 0:
                continue
            value = worst_quality(net, v)
            if value > goal:
                continue
            bad += 1
            point, normal = net.point[v], net.normal[v]
            step = 0.25 * net.size[v]
            for _ in range(6):
                copy_into(point, old)
                copy_into(point, best)
                ox, oy, oz = normal[0], normal[1], normal[2]
                bx, by, bz = ox, oy, oz
                # Two directions along the surface.
                if abs(ox) < 0.6:
                    ax, ay, az = 0.0, oz, -oy
                else:
                    ax, ay, az = -oz, 0.0, ox
                norm = np.sqrt(ax * ax + ay * ay + az * az)
                ax, ay, az = ax / norm, ay / norm, az / norm
                cx, cy, cz = oy * az - oz * ay, oz * ax - ox * az, ox * ay - oy * ax
                for direction in range(8):
                    s, t = np.cos(direction * np.pi / 4), np.sin(direction * np.pi / 4)
                    point[0] = old[0] + step * (s * ax + t * cx)
                    point[1] = old[1] + step * (s * ay + t * cy)
                    point[2] = old[2] + step * (s * az + t * cz)
                    nx, ny, nz = project(solid, point, distance, 3, BLUR * net.size[v])
                    normal[0], normal[1], normal[2] = nx, ny, nz
                    now = worst_quality(net, v)
                    if now > value + 1e-9:
                        value = now
                        copy_into(point, best)
                        bx, by, bz = nx, ny, nz
                if best[0] == old[0] and best[1] == old[1] and best[2] == old[2]:
                    step *= 0.5
                copy_into(best, point)
                normal[0], normal[1], normal[2] = bx, by, bz
        if bad == 0:
            break
    return bad


@kernel
def longest_edge(solid: Solid, points: Floats) -> Floats:
    """Return the edge length that still resolves the solid at each point; it grows away from thin bones."""
    result = np.empty(len(points))
    distance = np.empty(len(solid.parent))
    for i in range(len(points)):
        field(solid, points[i, 0], points[i, 1], points[i, 2], distance)
        least = np.inf
        for b in range(len(solid.parent)):
            least = min(least, 1.4 * solid.girth[b] + 0.5 * max(distance[b], 0.0))
        result[i] = least
    return result


def _sizes(length: float, longest: Floats, uneven: Floats) -> Floats:
    """Return edge lengths to aim at; those of thin parts are short, however uneven the mesh is."""
    return np.asarray(np.minimum(length * uneven, longest * np.minimum(uneven, 1.2)))


def _edge_lengths(area: Floats, longest: Floats, uneven: Floats, vertices: int) -> tuple[float, float]:
    """Return the (length, factor) for which `_sizes` needs that many vertices."""

    def count(length: float) -> float:
        return float((area / (0.866 * _sizes(length, longest, uneven) ** 2)).sum())

    low, high = 1e-4, 1e2
    if count(high) > vertices:
        return high, float(np.sqrt(count(high) / vertices))
    for _ in range(50):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if count(middle) > vertices else (low, middle)
    return high, 1.0


def _is_closed(faces: Ints) -> bool:
    """Whether each edge is used once in either direction."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    count = int(faces.max()) + 1
    there, back = np.sort(start * count + end), np.sort(end * count + start)
    return bool((there == back).all() and (np.diff(there) > 0).all())


def _genus_zero(solid: Solid, vertices: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return a lattice surface without handles and with more vertices than needed."""
    thinnest = (solid.radii[:, :2] + solid.radii[:, 2:]) / 2 * (1 + solid.swell[:, None])
    cell = rng.uniform(1.3, 1.6) * float(thinnest.min())
    for _ in range(20):
        points, faces = lattice_surface(solid, cell, random_turn(rng), rng.random(3))
        needed = np.sqrt(3.5 * vertex_areas(points, faces).sum() / vertices)
        if cell > 1.1 * needed:
            cell = needed * rng.uniform(0.9, 1.0)
        elif len(points) - len(faces) // 2 == 2 and _is_closed(faces):
            return points, faces
        else:  # the lattice bridges a narrow gap or tears a thin part
            cell *= 0.95
    raise RuntimeError("The solid is not a topological ball: its bones touch where they should not.")


def triangulate(
    solid: Solid, vertices: int, rng: np.random.Generator, *, uneven: float = 0.0
) -> tuple[Floats, Ints]:
    """Return a mesh of the solid's surface with the given number of vertices: closed, manifold, genus 0.

    The lattice is turned, shifted and sized at random, so every call gives another triangulation. Up to four
    lattices are tried, until the mesh has no sliver and the right number of vertices.
    """
    attempts = []
    for _ in range(4):
        points, faces = _triangulate(solid, vertices, rng, uneven)
        score = least_angle(points, faces) - 100 * abs(len(points) - vertices)
        attempts.append((score, points, faces))
        if score > GOOD_ANGLE:
            break
    _, points, faces = max(attempts, key=lambda attempt: attempt[0])
    return points, faces


def _triangulate(solid: Solid, vertices: int, rng: np.random.Generator, uneven: float) -> tuple[Floats, Ints]:
    waves, phases = 2.5 * rng.standard_normal((4, 3)), rng.uniform(0, 2 * np.pi, 4)

    def unevenness(points: Floats) -> Floats:
        return np.asarray(np.exp(uneven * np.cos(points @ waves.T + phases).sum(axis=1) / 2))

    points, faces = _genus_zero(solid, vertices, rng)
    length, factor = _edge_lengths(
        vertex_areas(points, faces), longest_edge(solid, points), unevenness(points), vertices
    )

    def sizes(points: Floats) -> Floats:
        return factor * _sizes(length, longest_edge(solid, points), unevenness(points))

    def begin(points: Floats, faces: Ints, steps: int) -> Net:
        size = sizes(points)
        net = make_net(points, project_all(solid, points, steps, BLUR * size), faces, 2 * vertices)
        net.size[: len(points)] = size
        return net

    def resize() -> None:
        net.size[: net.used[0]] = sizes(net.point[: net.used[0]])

    def count() -> int:
        return int((net.edge[: net.used[0]] >= 0).sum())

    def sorted_edges() -> Ints:
        half, ratio = edge_ratios(net)
        return np.asarray(half[np.argsort(ratio, kind="stable")])

    net = begin(points, faces, 1)
    for shortest in (0.3, 0.5, 0.65, 0.75):
        while collapse_edges(net, sorted_edges(), shortest, 1.4, 0.3, -1) > 0.05 * count():
            pass
        flip_edges(net, 3, -np.inf, 1.0)
    net = begin(*net_arrays(net), 3)
    relax(net, solid, 3)
    for _ in range(4):
        resize()
        split_edges(net, solid, sorted_edges()[::-1], 1.4, -1)
        collapse_edges(net, sorted_edges(), 0.7, 1.4, 0.3, -1)
        flip_edges(net, 3, -np.inf, 1.0)
        relax(net, solid, 3)
    for attempt in range(10):
        resize()
        surplus = count() - vertices
        if surplus > 0:  # with every round, less strict
            collapse_edges(net, sorted_edges(), 3.0, 2.0 + 0.2 * attempt, 0.4 - 0.03 * attempt, surplus)
        elif surplus < 0:
            split_edges(net, solid, sorted_edges()[::-1], 0.0, -surplus)
        flip_edges(net, 3, -np.inf, 1.0)
        relax(net, solid, 2)
        improve_worst(net, solid, 0.5, 2)
        flip_edges(net, 2, -np.inf, 1.0)
        if count() == vertices and (improve_worst(net, solid, 0.5, 2) == 0 or attempt >= 5):
            break
        if attempt < 9 and count() <= vertices:
            collapse_slivers(net, 0.36)
    return net_arrays(net)
