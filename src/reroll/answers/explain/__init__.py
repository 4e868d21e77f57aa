"""Why a workload rolls, or does not: what was decided, and what decided it."""
