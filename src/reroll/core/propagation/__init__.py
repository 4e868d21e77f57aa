"""How a change goes from workload to workload: what rollouts tell of it, and what follows."""
