"""The words that a dialect reads and writes: how they are called, where they stand."""

from enum import StrEnum
from typing import NamedTuple


class Place(StrEnum):
    """Where a word is read, or written by a roll."""

    WORKLOAD = "workload"
    TEMPLATE = "pod template"
    NAMESPACE = "Namespace"
    SOURCE = "source"
    TARGET = "target of an Injection"
    RECORD = "workload, written"
    MARK = "pod template, written"


class Word(NamedTuple):
    """One annotation, or one variable that is written."""

    key: str
    places: tuple[Place, ...]
    help: str
    example: str = ""
    prefix: bool = False
    """It is how the names of several variables begin."""
    renamed: bool = False
    """Its tool lets people choose another name for it."""
