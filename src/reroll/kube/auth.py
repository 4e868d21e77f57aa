"""The way to the API server: which one, with what trust and credentials, through which proxy.

No other module reads a kubeconfig or the service account's files. The environment comes in as a
mapping. Where to look, first found: the named kubeconfig, $KUBECONFIG, the pod's service account,
~/.kube/config.
"""

import base64
import ssl
from collections.abc import Mapping, Sequence
from os import pathsep
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from reroll.clock import Clock, SystemClock
from reroll.kube import proxy
from reroll.kube.credentials import Credential, Fixed, Source, TokenFile
from reroll.kube.errors import AuthError, ConfigError
from reroll.kube.tls import Contexts, Pem, Tls

if TYPE_CHECKING:  # A pod has no kubeconfig, and few kubeconfigs have a plugin.
    from reroll.kube import kubeconfig as files

Headers = tuple[tuple[str, str], ...]
IMPERSONATE = "Impersonate-"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Access(msgspec.Struct, frozen=True, eq=False):
    """What one request shows; the same object as long as nothing of it changed."""

    headers: Headers
    ssl: ssl.SSLContext | None
    """`None` for a plain http:// server."""
    credential: Credential

    def __repr__(self) -> str:
        return f"Access({self.credential!r})"


class Route(msgspec.Struct, frozen=True):
    """Everything about a connection that never changes."""

    server: str
    """Without a slash at the end; may have a path."""
    namespace: str = "default"
    proxy: str | None = None
    tls_server_name: str | None = None
    headers: Headers = ()

    def __repr__(self) -> str:
        return f"Route({self.server!r})"


class Connection:
    """One API server, and how to show who we are."""

    def __init__(self, route: Route, source: Source, contexts: Contexts | None) -> None:
        self.route = route
        self._source = source
        self._contexts = contexts
        self._last: Access | None = None

    @property
    def namespace(self) -> str:
        """The namespace of the context or of the pod."""
        return self.route.namespace

    async def access(self, *, rejected: Access | None = None) -> Access:
        """What to show now; the object `rejected` again only if there is nothing better."""
        refused = rejected.credential if rejected else None
        credential = await self._source.credential(refused)
        trust = self._trust(credential)
        last = self._last
        if last is None or last.credential is not credential or last.ssl is not trust:
            headers = self.route.headers
            if credential.token:
                headers = (*headers, ("Authorization", f"Bearer {credential.token}"))
            self._last = last = Access(headers, trust, credential)
        return last

    def with_token(self, token: str) -> "Connection":
        """The same server for the owner of this token; it shows nothing of our own."""
        if not token:
            raise ConfigError("there is no token")
        contexts = self._contexts.without_certificate() if self._contexts else None
        return Connection(replace(self.route, headers=()), Fixed(Credential(token)), contexts)

    def acting_as(self, user: str, groups: Sequence[str]) -> "Connection":
        """The same server and credentials, to act as somebody else: impersonation."""
        if not user:
            raise ConfigError("there is no user to act as")
        shown = tuple(one for one in self.route.headers if not one[0].startswith(IMPERSONATE))
        acting = ((f"{IMPERSONATE}User", user), *((f"{IMPERSONATE}Group", one) for one in groups))
        return Connection(replace(self.route, headers=shown + acting), self._source, self._contexts)

    def _trust(self, credential: Credential) -> ssl.SSLContext | None:
        if self._contexts is None:
            return None
        try:
            return self._contexts.current(credential.certificate, credential.key)
        except ConfigError as problem:
            raise AuthError(str(problem)) from None


def load(
    env: Mapping[str, str],
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    clock: Clock | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """Find the way to the API server; raises `ConfigError` with a sentence."""
    clock = clock or SystemClock()
    paths = _named_files(env, kubeconfig)
    if not paths and context is None and "KUBERNETES_SERVICE_HOST" in env:
        return _in_cluster(env, service_account, clock)
    home = _home(env)
    if not paths and not home.is_file():
        raise ConfigError(
            f"no way to a cluster: there is no {home}, KUBECONFIG names no file, and this is no "
            "pod; name a kubeconfig with --kubeconfig"
        )
    from reroll.kube import kubeconfig as files

    return _from_kubeconfig(files.choose(paths or [home], context), env, clock)


def contexts(env: Mapping[str, str], *, kubeconfig: str | None = None) -> list[str]:
    """The contexts that there are to choose from."""
    from reroll.kube import kubeconfig as files

    return files.contexts(_named_files(env, kubeconfig) or [_home(env)])


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or "/") / ".kube" / "config"


def _named_files(env: Mapping[str, str], kubeconfig: str | None) -> list[Path]:
    """The files that were asked for; of $KUBECONFIG's list those that are there, like kubectl."""
    if kubeconfig:
        return [Path(kubeconfig)]
    listed = [Path(part) for part in env.get("KUBECONFIG", "").split(pathsep) if part]
    there = [path for path in listed if path.exists()]
    if listed and not there:
        names = ", ".join(map(str, listed))
        raise ConfigError(f"KUBECONFIG names {names}, but no such file exists")
    return there


def _in_cluster(env: Mapping[str, str], folder: Path, clock: Clock) -> Connection:
    host, port = env["KUBERNETES_SERVICE_HOST"], env.get("KUBERNETES_SERVICE_PORT") or "443"
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    token, authority, home = folder / "token", folder / "ca.crt", folder / "namespace"
    missing = [str(path) for path in (token, authority) if not path.is_file()]
    if missing:
        raise ConfigError(
            f"this is a pod, but {' and '.join(missing)} is not there; set "
            "automountServiceAccountToken, or name a kubeconfig with --kubeconfig"
        )
    namespace = home.read_text(encoding="utf-8").strip() if home.is_file() else ""
    trust = Tls(Pem("the service account's ca.crt", authority))
    route = Route(server, namespace or "default", proxy.from_environment(server, env))
    return Connection(route, TokenFile(token, clock), Contexts(trust, clock))


def _from_kubeconfig(choice: "files.Choice", env: Mapping[str, str], clock: Clock) -> Connection:
    cluster, user = choice.cluster, choice.user
    if not cluster.server.startswith(("https://", "http://")):
        raise ConfigError(
            f"the server of context {choice.context!r} in {choice.files} is no URL; "
            "write it as https://host:port"
        )
    server = cluster.server.rstrip("/")
    if cluster.proxy_url:
        via: str | None = proxy.checked(cluster.proxy_url, f"proxy-url in {choice.files}")
    else:
        via = proxy.from_environment(server, env)
    trust = _trust(choice)
    contexts = Contexts(trust, clock) if server.startswith("https:") else None
    source = _source(choice, trust, env, clock)
    headers = _basic(user) + _impersonation(user)
    route = Route(server, choice.namespace, via, cluster.tls_server_name or None, headers)
    return Connection(route, source, contexts)


def _trust(choice: "files.Choice") -> Tls:
    cluster, user = choice.cluster, choice.user
    authority = _pem(
        "certificate-authority", cluster.certificate_authority, cluster.certificate_authority_data
    )
    if authority and cluster.insecure_skip_tls_verify:
        raise ConfigError(
            f"context {choice.context!r} in {choice.files} has both a certificate-authority and "
            "insecure-skip-tls-verify; remove one of them"
        )
    certificate = _pem("client-certificate", user.client_certificate, user.client_certificate_data)
    key = _pem("client-key", user.client_key, user.client_key_data)
    if (certificate is None) != (key is None):
        there, missing = ("client-certificate", "client-key")[:: 1 if certificate else -1]
        raise ConfigError(
            f"user {choice.user_name!r} in {choice.files} has a {there} but no {missing}"
        )
    return Tls(authority, certificate, key, cluster.insecure_skip_tls_verify)


def _pem(label: str, path: str, data: str) -> Pem | None:
    """Inline data wins over a file, like kubectl."""
    if data:
        try:
            return Pem(f"{label}-data", data=base64.b64decode(data, validate=False))
        except ValueError:
            raise ConfigError(f"{label}-data in the kubeconfig is not base64") from None
    return Pem(label, Path(path)) if path else None


def _source(choice: "files.Choice", trust: Tls, env: Mapping[str, str], clock: Clock) -> Source:
    user = choice.user
    if user.token_file:
        return TokenFile(Path(user.token_file), clock)
    if user.token:
        return Fixed(Credential(user.token))
    if user.exec:
        from reroll.kube.plugin import Plugin

        return Plugin(user.exec, choice.user_name, env, _cluster_info(choice, trust), clock)
    if user.auth_provider:
        raise ConfigError(
            f"user {choice.user_name!r} in {choice.files} uses auth-provider, which Kubernetes "
            "clients no longer know; use an exec plugin instead"
        )
    return Fixed(Credential())


def _cluster_info(choice: "files.Choice", trust: Tls) -> dict[str, Any]:
    cluster = choice.cluster
    info: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    if trust.authority and choice.user.exec and choice.user.exec.provide_cluster_info:
        info["certificate-authority-data"] = base64.b64encode(trust.authority.read()).decode()
    return info


def _basic(user: "files.User") -> Headers:
    # A token, which has the same header, goes first.
    if not user.username or user.token or user.token_file or user.exec:
        return ()
    pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
    return (("Authorization", f"Basic {pair}"),)


def _impersonation(user: "files.User") -> Headers:
    if not user.as_:
        return ()
    extra = [
        (f"Impersonate-Extra-{quote(key, '')}", value)
        for key, values in user.as_user_extra.items()
        for value in values
    ]
    groups = [("Impersonate-Group", group) for group in user.as_groups]
    uid = [("Impersonate-Uid", user.as_uid)] if user.as_uid else []
    return (("Impersonate-User", user.as_), *uid, *groups, *extra)
