"""The commands: the only place that parses arguments, prints, and sets exit codes."""
