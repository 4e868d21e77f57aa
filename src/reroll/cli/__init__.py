"""The commands: the only place that parses arguments, prints, reads the environment and sets exit codes."""
