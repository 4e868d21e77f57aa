"""Rolls workloads when the configuration that they use has changed."""
