"""Immutable copies of sources: their names, and the pins that name them."""
