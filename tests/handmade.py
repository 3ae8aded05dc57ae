"""Tiny meshes and folders written by hand."""

from pathlib import Path

TETRAHEDRON = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]


def strip(length: int) -> tuple[list[tuple[float, float, float]], list[tuple[int, int, int]]]:
    """A ladder of ``length`` unit squares along x: vertices 2i (y = 0) and 2i + 1 (y = 1) at x = i."""
    vertices = [(float(i // 2), float(i % 2), 0.0) for i in range(2 * length + 2)]
    faces = []
    for i in range(0, 2 * length, 2):
        faces += [(i, i + 2, i + 1), (i + 1, i + 2, i + 3)]
    return vertices, faces


def write_mesh(path: Path, shape=TETRAHEDRON) -> None:
    """OBJ or OFF, as the suffix says."""
    vertices, faces = shape
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".obj":
        lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [
            f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces
        ]
    else:
        lines = ["OFF", f"{len(vertices)} {len(faces)} 0"]
        lines += [f"{x} {y} {z}" for x, y, z in vertices] + [f"3 {a} {b} {c}" for a, b, c in faces]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_lines(path: Path, values) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
