"""The digest keys: which are in use, a new one, and taking out the old; see `reroll key`."""
