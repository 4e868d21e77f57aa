"""One reconciliation from a shell: roll, wait, go back."""
