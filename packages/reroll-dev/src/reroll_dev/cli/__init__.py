"""One module a command: `configure(parser)` and `run(args)`, loaded by `reroll.cli.app`."""
