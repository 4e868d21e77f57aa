"""What rolled, when and why, from what Reroll left on the objects."""
