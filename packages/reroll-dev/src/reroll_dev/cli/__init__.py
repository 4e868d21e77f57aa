"""One module a command, as `reroll.cli.app` loads them."""
