"""Meshes and targets in folders, before any torch: reading, checking, splitting them."""
