"""Whom a client trusts in TLS."""

import ssl


def trusting(authority: bytes | None = None) -> ssl.SSLContext:
    """Certificates of this authority, in PEM form, or else of those that the system trusts.

    Raises `ValueError` for what holds no certificate.
    """
    if authority is None:
        made = ssl.create_default_context()
    else:
        try:
            # Empty is no wish to Python, and then it trusts every public authority.
            text = authority.decode("ascii").strip() or "nothing"
            made = ssl.create_default_context(cadata=text)
        except ssl.SSLError as problem:
            raise ValueError("there is no PEM certificate") from problem
    # Python 3.13 refuses authorities without an Authority Key Identifier; many clusters have one.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made
