"""Makes new pods of a pinned template use the copies that their pins name."""
