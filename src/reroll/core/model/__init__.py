"""Values that the rest of core is written in. Frozen; no decisions."""
