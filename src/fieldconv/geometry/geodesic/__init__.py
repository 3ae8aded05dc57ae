"""Geodesic discs and distances."""
