"""Decisions: from a snapshot to a plan."""
