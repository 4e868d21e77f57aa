"""Injections: pieces of Secrets and ConfigMaps, kept in fields of other objects."""
