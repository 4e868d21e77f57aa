"""Notices: people and systems are told what needs them, once per change."""
