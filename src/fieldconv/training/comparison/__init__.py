"""Comparison of networks on the same data: plan, cost, runs, significance, report."""

from fieldconv.training.comparison.compare_networks import Comparison, compare

__all__ = ["Comparison", "compare"]
