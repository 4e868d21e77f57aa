"""Checking an installation: what is wrong, and what to do; see `reroll doctor`."""
