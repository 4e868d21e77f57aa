"""Revisions: immutable copies of sources, who owns them, and pins in templates."""
