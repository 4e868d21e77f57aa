"""Pods of a pinned template get the copies that their pins name, when they are made."""
