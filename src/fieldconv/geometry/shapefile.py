"""Read a shape from any file: a mesh, or a point cloud, which is triangulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fieldconv.geometry.mesh import files as meshfiles
from fieldconv.geometry.mesh.mesh import Mesh, MeshError, mesh_of
from fieldconv.geometry.resample.pointcloud import triangulate


def load_shape(path: str | Path) -> Mesh:
    """Return the mesh in a file; points without faces are triangulated by `triangulate`.

    Parameters
    ----------
    path : path
        A mesh file, or a cloud of at least 32 points: PLY, OBJ or OFF without faces, or XYZ (a line for each
        point: position, then perhaps its normal or its colour). Normals say which side is outside.

    Returns
    -------
    Mesh
        Its vertices are those of the file, in the same order.

    Raises
    ------
    MeshError
        If the file cannot be read, or its points span no surface.

    Examples
    --------
    >>> import tempfile
    >>> flat = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0), [0.0]), axis=-1).reshape(-1, 3)
    >>> path = Path(tempfile.mkdtemp()) / "scan.xyz"
    >>> np.savetxt(path, flat)
    >>> load_shape(path).area
    49.0
    """
    path = Path(path)
    read = meshfiles.read(path, points=True)
    if len(read.faces):
        return mesh_of(read, path.stem)
    try:
        columns = [read.vertex_data[name] for name in ("nx", "ny", "nz") if name in read.vertex_data]
        normals = np.stack(columns, axis=1).astype(np.float64) if len(columns) == 3 else None
        joined = triangulate(read.vertices, normals)
    except (MeshError, ValueError) as error:
        raise MeshError(f"{path}: a cloud of points that cannot be joined to a surface: {error}") from None
    return Mesh(
        read.vertices, joined.faces, path.stem, read.vertex_colours, None, read.vertex_data, cloud=True
    )
