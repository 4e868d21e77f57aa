"""How changes propagate, for people."""
