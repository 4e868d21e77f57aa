"""What decoding JSON from outside can raise: the one list, for all who decode."""

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""Bytes that are no UTF-8 give UnicodeDecodeError, text with half a surrogate UnicodeEncodeError,
nesting without end RecursionError. Bytes that were left as they came (`msgspec.Raw`) are checked
only when they are decoded."""
