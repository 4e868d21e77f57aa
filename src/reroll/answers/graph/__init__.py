"""Sources and the workloads that use them, as a graph."""
