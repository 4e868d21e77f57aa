"""The controller's own checkup."""
