"""The machinery of the controller: keys, work, reports, time. It knows no rollouts or revisions."""
