"""Several networks on one set of data, on the same footing: plan, cost, runs, significance, report."""

from fieldconv.training.comparison.compare_networks import Comparison, compare

__all__ = ["Comparison", "compare"]
