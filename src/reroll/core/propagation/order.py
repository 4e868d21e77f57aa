"""In which order a change would reach those that use a source, if all of them stay healthy."""

import msgspec

from reroll.core.model.key import Key
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Stage


def turns(group: Group) -> dict[Key, int]:
    """The turn of each that is behind, counted from 1; those of one turn begin together."""
    model, found = Group(group.source), dict[Key, int]()
    for key, member in sorted(group.members.items()):
        model.put(key, member)
    number = 0
    while ready := [key for key in model.ready() if key not in found]:
        number += 1
        for key in ready:
            found[key] = number
            healthy = msgspec.structs.replace(
                model.members[key], stage=Stage.HEALTHY, moving=False, stops=False
            )
            model.put(key, healthy)
    return found
