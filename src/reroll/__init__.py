"""Rolls Kubernetes workloads when the ConfigMaps and Secrets they use change."""

__version__ = "0.2.0"
