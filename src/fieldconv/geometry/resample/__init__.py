"""Other points on the same surface: samples, coarser, finer and new triangles."""
