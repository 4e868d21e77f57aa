"""Which configs a document names, wherever in it.

Pure. Content-named configs have names that stand for nothing else, so any text of a document that
is such a name counts: in a volume, in an argument, in a field that only some operator knows. That
may find too much, which keeps a config, and never too little, which would lose one.
"""

import re
from collections.abc import Iterator

LONGEST = 253
"""Characters of a name, as Kubernetes has them."""
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAME = re.compile(rb"[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?")


def mentioned(document: bytes, names: frozenset[str]) -> frozenset[str]:
    """Those of `names` that occur in a JSON document."""
    return names.intersection(_words(document)) if names else names


def _words(document: bytes) -> Iterator[str]:
    for match in _NAME.finditer(_ESCAPE.sub(b" ", document)):
        word = match[0][: LONGEST + 1].decode()  # No more of it can be a name, or end one.
        yield word
        while "." in word:  # `app-5f9c2d1a7b.yaml` names it too
            word = word.rpartition(".")[0]
            yield word
