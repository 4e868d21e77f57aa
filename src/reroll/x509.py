"""Whom a certificate is for, and until when: the public part of what a Secret holds.

Pure. A few fields out of the DER of X.509 (RFC 5280), read in place; no key and no other value is
looked at. What cannot be read is no certificate here.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

KEYS = ("tls.crt", "ca.crt")
"""Where certificates are: what `kubernetes.io/tls` and cert-manager call them."""
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_COMMON_NAME = b"\x55\x04\x03"
_ALTERNATIVE_NAMES = b"\x55\x1d\x11"
_UTC, _VERSION, _EXTENSIONS, _DNS_NAME = 0x17, 0xA0, 0xA3, 0x82


class Certificate(NamedTuple):
    key: str
    """Of the Secret."""
    subject: str
    begins: datetime
    ends: datetime


def certificates(data: Mapping[str, str]) -> Iterator[Certificate]:
    """The first certificate, which is the owner's own, under each of the known keys of a Secret."""
    for key in KEYS:
        try:
            text = base64.b64decode(data.get(key, ""))
        except ValueError:
            continue
        if found := certificate(key, text):
            yield found


def certificate(key: str, text: bytes) -> Certificate | None:
    """The first certificate in a text, which is what a Secret has under a key."""
    try:
        match = _PEM.search(text)
        return _certificate(key, base64.b64decode(match[1])) if match else None
    except (ValueError, binascii.Error, IndexError):
        return None


def _certificate(key: str, der: bytes) -> Certificate:
    [(_, whole)] = _parts(der)
    (_, signed), *_ = _parts(whole)
    fields = [part for part in _parts(signed) if part[0] != _VERSION]
    _serial, _algorithm, _issuer, (_, validity), (_, subject), *rest = fields
    begins, ends = (_time(*part) for part in _parts(validity))
    name = _common_name(subject) or next(_alternative_names(rest), "")
    return Certificate(key, name, begins, ends)


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each value that stands in `data` one after the other."""
    while data:
        tag, size, start = data[0], data[1], 2
        if size & 0x80:
            start += size & 0x7F
            size = int.from_bytes(data[2:start], "big")
        if start + size > len(data):
            raise ValueError("it ends too early")
        yield tag, data[start : start + size]
        data = data[start + size :]


def _time(tag: int, text: bytes) -> datetime:
    form = "%y%m%d%H%M%SZ" if tag == _UTC else "%Y%m%d%H%M%SZ"
    return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC)


def _common_name(subject: bytes) -> str:
    for _, relative in _parts(subject):
        for _, pair in _parts(relative):
            (_, name), (_, value) = _parts(pair)
            if name == _COMMON_NAME:
                return f"CN={_printable(value)}"
    return ""


def _alternative_names(rest: list[tuple[int, bytes]]) -> Iterator[str]:
    for tag, part in rest:
        if tag != _EXTENSIONS:
            continue
        [(_, extensions)] = _parts(part)
        for _, extension in _parts(extensions):
            (_, name), *_, (_, value) = _parts(extension)
            if name == _ALTERNATIVE_NAMES:
                [(_, names)] = _parts(value)
                yield from (_printable(text) for tag, text in _parts(names) if tag == _DNS_NAME)


def _printable(text: bytes) -> str:
    """For a terminal: whoever wrote the certificate chose this."""
    return "".join(c for c in text.decode("utf-8", "replace") if c.isprintable())[:100]
