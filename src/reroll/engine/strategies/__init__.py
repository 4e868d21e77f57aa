"""How the actions of a plan are carried out, one module for each kind of work."""
