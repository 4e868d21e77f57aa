"""The rewriting of pods as CEL, made from the pattern and the table of fields of `pins`.

Pure. One list for each row of the table, added up: the API server evaluates a single expression and
applies a single patch, so a pod with pins costs milliseconds and one without costs nothing.
"""

from reroll.core.revisions.pins import PIN, PINS
from reroll.core.tables.fields import PINNED_FIELDS, Field
from reroll.core.tables.kinds import EACH, Path

IS_PINNED = f"has(object.metadata.annotations) && {PINS!r} in object.metadata.annotations"

_TEXTS = (
    f"object.metadata.annotations[{PINS!r}].split(',').map(p, p.trim())"
    f".filter(p, p.matches({PIN!r}))"
)
_PINS = (
    # A map with one key twice is an error, and what is odd must not stop a pod.
    "variables.sources.transformMapEntry(i, s, variables.sources.indexOf(s) == i,"
    " {s: variables.texts[i].split('=')[1]})"
)
VARIABLES = (
    # name, expression
    ("texts", _TEXTS),
    ("sources", "variables.texts.map(p, p.split('=')[0])"),
    ("pins", _PINS),
)


def patches() -> str:
    """An expression whose value is the list of all JSON Patch operations that a pod needs."""
    return " + ".join(map(_patches, PINNED_FIELDS))


def _patches(field: Field) -> str:
    return _list("object.spec", field.path, "'/spec'", field.source.lower())


def _list(parent: str, path: Path, pointer: str, kind: str, depth: int = 0) -> str:
    """The operations for a path of which the part up to its first `*` is a list below `parent`."""
    place = path.index(EACH)
    lead, rest = path[:place], path[place + 1 :]
    items = ".".join((parent, *lead))
    index, item = f"i{depth}", f"v{depth}"
    pointer = f"{pointer} + '/{'/'.join(lead)}/' + string({index})"
    if EACH in rest:
        nested = rest[: rest.index(EACH)]
        inner = _list(item, rest, pointer, kind, depth + 1)
        found = f"{items}.transformList({index}, {item}, {_has(item, nested)}, {inner}).flatten()"
    else:
        name = ".".join((item, *rest))
        source = f"('{kind}/' + {name})"
        operation = (
            f"JSONPatch{{op: 'replace', path: {pointer} + '/{'/'.join(rest)}',"
            f" value: variables.pins[{source}]}}"
        )
        holds = f"{_has(item, rest)} && {source} in variables.pins"
        found = f"{items}.transformList({index}, {item}, {holds}, {operation})"
    return found if depth else f"({_has(parent, lead)} ? {found} : [])"


def _has(parent: str, path: Path) -> str:
    """Whether all of a path is there."""
    steps = (".".join((parent, *path[: length + 1])) for length in range(len(path)))
    return " && ".join(f"has({step})" for step in steps)
