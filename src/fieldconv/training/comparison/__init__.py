"""Comparison of networks on the same data: plan, cost, runs, significance, report."""
