"""Plans as JSON Patches."""
