"""Decisions and nothing else: no I/O, no asyncio, no clock, no logging, no global state."""
