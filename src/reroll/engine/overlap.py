"""Other installations that manage the same workloads: noticed by the keys of the records.

A record that had a key of ours and then has one that is not known here was written by another
installation, unless our own keys changed and this replica has not read that yet. So the keys are
read again first, and then it is told, once for a namespace.
"""

from collections.abc import Callable

from reroll.core.model.key import Key, Problem
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Keys
from reroll.core.observe.workload import Workload
from reroll.core.tables.reasons import Reason

_SENTENCE = (
    "another installation of Reroll, with the digest key {}, manages {} too; have each select "
    "namespaces of its own, and run `reroll sync` with the --controller-namespace of the one that "
    "manages them"
)


class Overlap:
    """`reread()`: have the digest keys read again, and `confirm` called with them."""

    def __init__(self, reread: Callable[[], None]) -> None:
        self._reread = reread
        self._suspected: dict[str, tuple[Key, str]] = {}
        """By namespace: one workload, and the key that its record has."""
        self._noticed: dict[str, tuple[Key, str]] = {}

    def record_changed(self, before: Workload, now: Workload, keys: Keys) -> bool:
        """Whether the record went from a key of ours to an unknown one, or back."""
        old, new = before.record, now.record
        if not (isinstance(old, Record) and isinstance(new, Record)) or new.n < old.n:
            return False
        was_ours, is_ours = old.k in keys, new.k in keys
        namespace = now.key.namespace
        if was_ours and not is_ours and namespace not in self._noticed:
            self._suspected[namespace] = now.key, new.k
            self._reread()
        return was_ours != is_ours

    def confirm(self, keys: Keys) -> list[Key]:
        """The keys were read: the workloads about which there is something to tell."""
        for known in (self._suspected, self._noticed):
            for namespace in [place for place, (_, key_id) in known.items() if key_id in keys]:
                del known[namespace]
        new, self._suspected = self._suspected, {}
        self._noticed |= new
        return [key for key, _ in new.values()]

    def problems(self, key: Key) -> tuple[Problem, ...]:
        noticed = self._noticed.get(key.namespace)
        if noticed is None or noticed[0] != key:
            return ()
        sentence = _SENTENCE.format(noticed[1], key)
        return (Problem(sentence, Reason.OTHER_INSTALLATION),)

    def forget(self, key: Key) -> None:
        for known in (self._suspected, self._noticed):
            if known.get(key.namespace, (None,))[0] == key:
                del known[key.namespace]
