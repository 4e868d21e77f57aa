"""Observed state: a manifest as a workload, its health, and record against sources."""
