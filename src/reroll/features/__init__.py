"""What the controller does, a package for each feature; features do not import each other."""
