"""The webhook's certificates as a Secret holds them, and when each is due for renewal.

Pure. The webhook's certificate is renewed long before it ends, by the same authority. An authority
gets a successor a year before it ends, and the API server is given both; the successor signs only
when the first is too short-lived, and has been known to the API server for months by then. So the
API server never meets a certificate of an authority that it does not know.
"""

import base64
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from reroll.x509 import certificates

AUTHORITY_LIFETIME = timedelta(days=3 * 365)
AUTHORITY_RENEWAL = timedelta(days=365)
"""A successor is made when the last authority has less than this left."""
LIFETIME = timedelta(days=90)
RENEWAL = timedelta(days=30)
"""The certificate is renewed when it has less than this left."""
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----\n?", re.DOTALL)


class Pem(NamedTuple):
    """A certificate and its key."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        return "Pem(…)"

    @property
    def ends(self) -> datetime | None:
        """`None`: it cannot be read."""
        data = {"tls.crt": base64.b64encode(self.certificate.encode()).decode()}
        return next((one.ends for one in certificates(data)), None)


class Certificates(NamedTuple):
    """What the Secret holds."""

    authorities: tuple[Pem, ...] = ()
    """The oldest first."""
    own: Pem | None = None
    hosts: str = ""
    """The names that the webhook's own certificate is for."""

    @property
    def bundle(self) -> str:
        """What the API server has to trust."""
        return "".join(one.certificate for one in self.authorities)


class Due(NamedTuple):
    """What has to be renewed."""

    authorities: tuple[Pem, ...]
    """Those that stay."""
    authority: bool
    certificate: bool

    @property
    def is_nothing(self) -> bool:
        return not (self.authority or self.certificate)


def due(held: Certificates, hosts: str, now: datetime) -> Due:
    """What has to be renewed now, because of its age or because of other names."""
    good = tuple(one for one in held.authorities if (one.ends or now) > now)
    authority = not good or _left(good[-1], now) < AUTHORITY_RENEWAL
    own = held.own if held.authorities and held.hosts == hosts else None
    return Due(good, authority, own is None or _left(own, now) < RENEWAL)


def signer(authorities: tuple[Pem, ...], now: datetime) -> Pem:
    """The authority that signs now: the oldest that outlives what it signs."""
    lasting = [one for one in authorities if _left(one, now) > LIFETIME]
    return lasting[0] if lasting else authorities[-1]


def _left(one: Pem, now: datetime) -> timedelta:
    return (one.ends or now) - now


def read(data: Mapping[str, str], hosts: str) -> Certificates:
    """What a Secret's data hold; what cannot be read counts as missing and is renewed."""
    try:
        texts = {key: base64.b64decode(value).decode("ascii") for key, value in data.items()}
    except ValueError:
        return Certificates()
    pairs = zip(_blocks(texts.get("ca.crt", "")), _blocks(texts.get("ca.key", "")), strict=False)
    authorities = tuple(Pem(*pair) for pair in pairs)
    own = Pem(texts.get("tls.crt", ""), texts.get("tls.key", ""))
    return Certificates(authorities, own if own.ends and own.key else None, hosts)


def write(held: Certificates) -> dict[str, str]:
    """The data of the Secret."""
    own = held.own or Pem("", "")
    texts = {
        "ca.crt": held.bundle,
        "ca.key": "".join(one.key for one in held.authorities),
        "tls.crt": own.certificate,
        "tls.key": own.key,
    }
    return {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}


def _blocks(text: str) -> list[str]:
    return [match[0] for match in _PEM.finditer(text)]
