"""What annotations and settings ask for, and which sources a workload refers to."""
