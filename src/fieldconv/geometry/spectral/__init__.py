"""Eigenfunctions, signatures, and maps made of them."""
