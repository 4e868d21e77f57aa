"""One look at a cluster, with the engine's own eyes."""
