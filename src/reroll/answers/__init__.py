"""Answers to questions about a cluster. Everything here only reads."""
