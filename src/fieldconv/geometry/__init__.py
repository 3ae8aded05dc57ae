"""Shapes to numbers: NumPy in, NumPy out, no torch."""
