"""aiohttp, imported without the authorities that the system trusts.

As it is imported, aiohttp makes a TLS context with all of them: 2 MB, and a twentieth of a second,
for what nobody uses, since every connection here brings its own. A test tells when leaving them out
has no effect any more.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _no_authorities() -> Iterator[None]:
    load = ssl.SSLContext.load_default_certs
    ssl.SSLContext.load_default_certs = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        ssl.SSLContext.load_default_certs = load  # type: ignore[method-assign]


with _no_authorities():
    import aiohttp

__all__ = ["aiohttp"]
