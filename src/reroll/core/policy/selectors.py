"""Label selectors, as Kubernetes writes them: `team=shop, tier!=batch, env in (a, b), !legacy`."""

import re
from collections.abc import Mapping

import msgspec

_SET = re.compile(r"(?P<key>\S+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL = re.compile(r"(?P<key>[^\s=!]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s=!]*)")
_EXISTS = re.compile(r"(?P<op>!?)\s*(?P<key>[^\s=!()]+)")
_COMMA = re.compile(r",(?![^(]*\))")


class Requirement(msgspec.Struct, frozen=True):
    key: str
    values: frozenset[str] | None
    """`None`: any value."""
    negated: bool = False

    def holds(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        met = value is not None and (self.values is None or value in self.values)
        return met is not self.negated


class Selector(msgspec.Struct, frozen=True):
    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds(labels) for requirement in self.requirements)


def parse_selector(text: str) -> Selector | None:
    """The selector, or `None` if `text` is none. An empty text selects everything."""
    found = []
    for part in _COMMA.split(text):
        if not part.strip():
            continue
        requirement = _requirement(part.strip())
        if requirement is None:
            return None
        found.append(requirement)
    return Selector(tuple(found))


def selector_in(given: dict[str, str] | str, where: str, problems: list[str]) -> Selector:
    """The selector in a row of a config file: a map of labels, or one as text."""
    if isinstance(given, dict):
        labels = given.items()
        return Selector(tuple(Requirement(key, frozenset((value,))) for key, value in labels))
    found = parse_selector(given)
    if found is None:
        wrong = f'{given[:80]!r} is not a label selector; write e.g. "team=shop"'
        problems.append(f"{where}: {wrong}")
    return found or Selector()


def _requirement(text: str) -> Requirement | None:
    if m := _SET.fullmatch(text):
        values = frozenset(value.strip() for value in m["values"].split(","))
        return Requirement(m["key"], values, m["op"] == "notin")
    if m := _EQUAL.fullmatch(text):
        return Requirement(m["key"], frozenset((m["value"],)), m["op"] == "!=")
    if m := _EXISTS.fullmatch(text):
        return Requirement(m["key"], None, m["op"] == "!")
    return None
