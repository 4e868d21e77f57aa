"""Manifests on their way to the cluster: checksums and content names, by minimal edits of text."""
