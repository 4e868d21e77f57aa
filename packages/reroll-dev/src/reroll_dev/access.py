"""Who may call the API server, and the kubeconfig of each.

Identities that are known when the cluster starts have tokens; more are added at any time with
client certificates signed by the cluster's authority, without a restart. None but `admin` has
rights until they are granted.
"""

import base64
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reroll.pki import Pair
from reroll_dev import pki
from reroll_dev.errors import DevClusterError
from reroll_dev.layout import Layout

MASTERS = ("system:masters",)
NODE = "worker"
"""The real node's name. KWOK's are called node-0, node-1, …"""


@dataclass(frozen=True, slots=True)
class Identity:
    name: str
    """As people and file names call it."""
    groups: tuple[str, ...] = ()
    user: str = ""
    """As the API server calls it, if that differs."""

    @property
    def username(self) -> str:
        return self.user or self.name


PEOPLE = (Identity("admin", MASTERS), Identity("reroll"), Identity("alice"))
# Each component calls under a name of its own, so that the audit log says who did what.
COMPONENTS = (
    Identity("kube-controller-manager", MASTERS, "system:kube-controller-manager"),
    Identity("kube-scheduler", MASTERS, "system:kube-scheduler"),
    Identity("kwok", MASTERS),
    Identity("rollouts-controller", MASTERS),
)


# With a real node there are these too: they have the rights that every cluster gives them.
KUBELET = Identity("kubelet", ("system:nodes",), f"system:node:{NODE}")
PROXY = Identity("kube-proxy", (), "system:kube-proxy")
OF_NODE = (KUBELET, PROXY)
KUBELETS_CLIENT = Identity("kubelet-client", MASTERS)
"""As whom the API server asks a kubelet for logs, and to execute something."""


def write_authority(layout: Layout, addresses: Sequence[str] = ()) -> None:
    """Make the authority, the API server's certificate and the key of service-account tokens.

    `addresses` are those at which the API server can be called, beside this machine's own.
    """
    authority = pki.new_authority()
    server = pki.server_certificate(authority, addresses)
    private, public = pki.signing_key()
    layout.ca.write_bytes(authority.certificate)
    pki.write_private(layout.pki / "ca.key", authority.key)
    (layout.pki / "apiserver.crt").write_bytes(server.certificate)
    pki.write_private(layout.pki / "apiserver.key", server.key)
    pki.write_private(layout.pki / "service-accounts.key", private)
    (layout.pki / "service-accounts.pub").write_bytes(public)


def new_tokens(layout: Layout, identities: Iterable[Identity]) -> dict[str, str]:
    """Tokens by identity; the API server reads them from a file."""
    tokens = {}
    lines = []
    for identity in identities:
        tokens[identity.name] = token = secrets.token_hex(16)
        groups = f',"{",".join(identity.groups)}"' if identity.groups else ""
        lines.append(f"{token},{identity.username},{identity.name}{groups}\n")
    pki.write_private(layout.pki / "tokens.csv", "".join(lines).encode())
    return tokens


def write_kubelet_certificates(layout: Layout, address: str) -> None:
    """What kubelet and API server show each other; `address` is the node's."""
    ca = authority(layout)
    for name, pair in (
        ("kubelet", pki.kubelet_certificate(ca, KUBELET.username, address)),
        (
            KUBELETS_CLIENT.name,
            pki.client_certificate(ca, KUBELETS_CLIENT.name, KUBELETS_CLIENT.groups),
        ),
    ):
        (layout.pki / f"{name}.crt").write_bytes(pair.certificate)
        pki.write_private(layout.pki / f"{name}.key", pair.key)


def authority(layout: Layout) -> Pair:
    try:
        return Pair(layout.ca.read_bytes(), (layout.pki / "ca.key").read_bytes())
    except OSError as error:
        raise DevClusterError(
            f"cannot read the certificate authority of the cluster in {layout.folder}"
            f" ({error.strerror}); start the cluster first: reroll dev up"
        ) from error


def certificate_login(layout: Layout, user: str, groups: Sequence[str]) -> dict[str, str]:
    """The `user` entry of a kubeconfig, with a client certificate made now."""
    pair = pki.client_certificate(authority(layout), user, groups)
    return {
        "client-certificate-data": _encoded(pair.certificate),
        "client-key-data": _encoded(pair.key),
    }


def write_kubeconfig(
    layout: Layout, identity: Identity, server: str, login: dict[str, str]
) -> None:
    """The file is named after the identity; the user in it has the name the API server knows."""
    import yaml

    path = layout.kubeconfig(identity.name)
    content = kubeconfig(server, layout.ca.read_bytes(), identity.username, login)
    pki.write_private(path, yaml.safe_dump(content, sort_keys=False).encode())


def kubeconfig(server: str, ca: bytes, user: str, login: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "reroll-dev",
                "cluster": {"server": server, "certificate-authority-data": _encoded(ca)},
            }
        ],
        "users": [{"name": user, "user": login}],
        "contexts": [{"name": "reroll-dev", "context": {"cluster": "reroll-dev", "user": user}}],
        "current-context": "reroll-dev",
    }


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
