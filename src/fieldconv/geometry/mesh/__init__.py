"""Triangle meshes: files, checks, repair, numbering, connectivity."""
