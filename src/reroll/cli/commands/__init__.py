"""One module a command: `DESCRIPTION`, `configure(parser)` and `run(args)`."""
