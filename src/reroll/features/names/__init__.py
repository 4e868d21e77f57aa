"""Content-named configs in a cluster: who owns them, and which nobody uses any more."""
