"""Whose annotations opt a workload in: a row for each dialect, and what a row needs."""
