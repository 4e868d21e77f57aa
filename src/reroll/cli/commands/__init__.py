"""One module a command: `configure(parser)` and `run(args)`."""
