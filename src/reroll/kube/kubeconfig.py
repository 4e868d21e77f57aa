"""Read and merge kubeconfig files as kubectl does, and pick one context out of them.

The first file that sets something wins; relative paths are relative to the file they stand in.
Every fault is a `ConfigError` that names file, and line or entry. No value of the file is ever
part of an error: values may be credentials.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from reroll.core.model.podspec import without_nulls
from reroll.kube.errors import ConfigError


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class EnvVar(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str
    api_version: str = ""
    args: list[str] = []
    env: list[EnvVar] = []
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    exec: Exec | None = None
    auth_provider: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return "User(…)"


class Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User = User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = ""


class Choice(msgspec.Struct, frozen=True):
    """One context with all that belongs to it; paths are absolute."""

    context: str
    cluster: Cluster
    user: User
    user_name: str
    namespace: str
    files: str
    """Where it was read, for errors."""


T = TypeVar("T")


def choose(paths: Sequence[Path], context: str | None) -> Choice:
    """The named context, or the current one, out of all `paths` together."""
    files = [_resolved(_read(path), path.parent) for path in paths]
    where = ", ".join(map(str, paths))
    contexts = _first_wins([{c.name: c.context for c in file.contexts} for file in files])
    clusters = _first_wins([{c.name: c.cluster for c in file.clusters} for file in files])
    users = _first_wins([{u.name: u.user for u in file.users} for file in files])
    name = context or next((f.current_context for f in files if f.current_context), "")
    if name not in contexts:
        raise ConfigError(_no_context(name, where, contexts))
    chosen = contexts[name]
    cluster = _entry(clusters, "cluster", chosen.cluster, f"context {name!r} in {where}")
    if not cluster.server:
        raise ConfigError(f"cluster {chosen.cluster!r} in {where} has no server")
    user = User()
    if chosen.user:
        user = _entry(users, "user", chosen.user, f"context {name!r} in {where}")
    return Choice(name, cluster, user, chosen.user, chosen.namespace or "default", where)


def contexts(paths: Sequence[Path]) -> list[str]:
    """The names of all contexts in `paths`, sorted."""
    return sorted({one.name for path in paths for one in _read(path).contexts})


def _no_context(name: str, where: str, contexts: Mapping[str, Context]) -> str:
    there = ", ".join(sorted(contexts)) or "none"
    if not name:
        return f"{where} sets no current-context; choose one with --context (there are: {there})"
    return f"context {name!r} is not in {where}; there are: {there}"


def _entry(entries: Mapping[str, T], what: str, name: str, where: str) -> T:
    if name not in entries:
        there = ", ".join(sorted(entries)) or "none"
        raise ConfigError(f"{where} names {what} {name!r}, which is not there; there are: {there}")
    return entries[name]


def _first_wins(tables: Sequence[Mapping[str, T]]) -> dict[str, T]:
    merged: dict[str, T] = {}
    for table in tables:
        merged = {**table, **merged}
    return merged


def _read(path: Path) -> _File:
    try:
        document = _parse(path.read_bytes(), path)
    except OSError as problem:
        raise ConfigError(f"kubeconfig {path} cannot be read: {problem.strerror}") from None
    try:
        return msgspec.convert(document, _File, strict=False)
    except msgspec.ValidationError as problem:
        raise ConfigError(f"kubeconfig {path} is not a kubeconfig: {problem}") from None


def _parse(content: bytes, path: Path) -> Any:
    import yaml

    try:
        document = yaml.load(content, _loader())  # noqa: S506  a safe loader
        # `users: null` means the same as no users, and so does an empty file.
        return {} if document is None else without_nulls(document)
    except yaml.MarkedYAMLError as problem:
        # The mark's own text would show the line, and with it perhaps a token.
        mark = problem.problem_mark or problem.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"kubeconfig {path}{line}: broken YAML: {problem.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"kubeconfig {path} is no YAML file") from None


def _loader() -> Any:
    """A YAML loader for which every scalar but null is text.

    A token of digits stays the digits it is, and a user called `on` is not called True.
    """
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    keep = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:merge"}
    resolvers = {
        first: [(tag, pattern) for tag, pattern in rules if tag in keep]
        for first, rules in base.yaml_implicit_resolvers.items()
    }
    return type("Loader", (base,), {"yaml_implicit_resolvers": resolvers})


def _resolved(file: _File, folder: Path) -> _File:
    def absolute(path: str) -> str:
        return str(folder.absolute() / path) if path else ""

    def of_cluster(cluster: Cluster) -> Cluster:
        authority = absolute(cluster.certificate_authority)
        return msgspec.structs.replace(cluster, certificate_authority=authority)

    def of_user(user: User) -> User:
        plugin = user.exec
        if plugin and "/" in plugin.command:
            plugin = msgspec.structs.replace(plugin, command=absolute(plugin.command))
        return msgspec.structs.replace(
            user,
            client_certificate=absolute(user.client_certificate),
            client_key=absolute(user.client_key),
            token_file=absolute(user.token_file),
            exec=plugin,
        )

    return msgspec.structs.replace(
        file,
        clusters=[_NamedCluster(c.name, of_cluster(c.cluster)) for c in file.clusters],
        users=[_NamedUser(u.name, of_user(u.user)) for u in file.users],
    )
