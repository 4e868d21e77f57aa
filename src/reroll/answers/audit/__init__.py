"""Which running pods have stale configuration, in a cluster that need not know this tool."""
