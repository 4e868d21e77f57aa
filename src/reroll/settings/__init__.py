"""Settings: one table, from which flags, variables, config file, chart and docs are made."""
