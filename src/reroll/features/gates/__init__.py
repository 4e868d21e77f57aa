"""Asks the gates of the config file, while somebody waits for them."""
