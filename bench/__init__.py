"""The benchmark: how fast and how small, as ratios to the floor, in one run on one control plane."""
