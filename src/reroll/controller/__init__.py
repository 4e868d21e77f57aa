"""The machinery of the controller: keys, work and time. It knows no rollouts and no revisions."""
