"""A real Kubernetes control plane on this machine: built, started, watched over and ended."""
