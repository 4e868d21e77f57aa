"""`reroll windows`: what is open, until when, and when it opens next."""
