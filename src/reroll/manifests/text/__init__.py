"""YAML and JSON as trees that know their place in the text, and minimal edits of it."""
