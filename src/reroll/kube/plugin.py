"""Credentials from an exec plugin, as `client.authentication.k8s.io` describes it.

The plugin runs when a credential is first needed, when the last one has expired, and when the API
server refused the last one. It gets no terminal: stdin is closed and `interactive` is false. What
it prints on stdout is a credential and never part of an error.
"""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.core.model.unreadable import UNREADABLE
from reroll.kube.credentials import Credential
from reroll.kube.errors import AuthError, shorten
from reroll.kube.kubeconfig import Exec

VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIMEOUT = 120.0
EARLY = timedelta(seconds=10)
"""A credential is not used any more when it is this close to its end."""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    status: _Status


_ANSWER = msgspec.json.Decoder(_ExecCredential)


class Plugin:
    """One exec plugin of one user, and its last credential."""

    def __init__(
        self,
        plugin: Exec,
        user: str,
        env: Mapping[str, str],
        cluster: Mapping[str, Any],
        clock: Clock,
    ) -> None:
        self._plugin = plugin
        self._label = f"exec plugin {plugin.command!r} of user {user!r}"
        self._clock = clock
        self._lock = asyncio.Lock()
        self._last: Credential | None = None
        self._env = {
            **env,
            **{variable.name: variable.value for variable in plugin.env},
            "KUBERNETES_EXEC_INFO": _exec_info(plugin, cluster),
        }
        self._check()

    def _check(self) -> None:
        if self._plugin.api_version not in VERSIONS:
            raise AuthError(
                f"{self._label} asks for apiVersion {self._plugin.api_version!r}; "
                f"reroll knows {' and '.join(VERSIONS)}"
            )
        if self._plugin.interactive_mode == "Always":
            raise AuthError(
                f"{self._label} needs a terminal (interactiveMode: Always), which reroll does not "
                "give it; use a token or another plugin"
            )

    async def credential(self, rejected: Credential | None = None) -> Credential:
        """The last credential while it is good, else a new one; `rejected` is not good."""
        async with self._lock:
            last = self._last
            if last is None or last is rejected or self._has_expired(last):
                self._last = last = self._parsed(await self._output())
            return last

    def _has_expired(self, credential: Credential) -> bool:
        return credential.expires is not None and credential.expires <= self._clock.now() + EARLY

    async def _output(self) -> bytes:
        try:
            process = await self._started()
        except OSError as problem:
            hint = shorten(self._plugin.install_hint.strip())
            raise AuthError(
                f"{self._label} cannot be started: {problem.strerror}; "
                f"{hint or 'install it, or check PATH'}"
            ) from None
        out, err = await self._finished(process)
        if process.returncode:
            told = shorten(err.decode(errors="replace").strip()) or "it said nothing on stderr"
            raise AuthError(f"{self._label} failed with exit code {process.returncode}: {told}")
        return out

    async def _started(self) -> Process:
        """A start is never cancelled half way: asyncio would wait for all that holds its pipes."""
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                env=self._env,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,  # so that what it starts can be ended with it
            )
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with suppress(OSError):
                await _kill(await starting)
            raise

    async def _finished(self, process: Process) -> tuple[bytes, bytes]:
        try:
            async with asyncio.timeout(TIMEOUT):
                return await process.communicate()
        except TimeoutError:
            await _kill(process)
            raise AuthError(f"{self._label} did not end within {TIMEOUT:.0f} s") from None
        except BaseException:
            await _kill(process)
            raise

    def _parsed(self, output: bytes) -> Credential:
        try:
            answer = _ANSWER.decode(output)
        except UNREADABLE:
            raise AuthError(f"{self._label} did not print an ExecCredential in JSON") from None
        if answer.api_version != self._plugin.api_version:
            raise AuthError(
                f"{self._label} answered with apiVersion {answer.api_version!r} instead of "
                f"{self._plugin.api_version!r}; make them the same in the kubeconfig"
            )
        status = answer.status
        certificate, key = status.client_certificate_data or "", status.client_key_data or ""
        if not status.token and not (certificate and key):
            raise AuthError(f"{self._label} gave neither a token nor a certificate with its key")
        if not (status.token or "").isascii() or not (status.token or "").isprintable():
            raise AuthError(f"{self._label} gave a token with characters that no header can have")
        expires = status.expiration_timestamp
        if expires is not None and expires.tzinfo is None:
            expires = expires.replace(tzinfo=UTC)
        return Credential(status.token or "", certificate.encode(), key.encode(), expires)


async def _kill(process: Process) -> None:
    """With whatever it started, for that may hold its output open."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await process.wait()


def _exec_info(plugin: Exec, cluster: Mapping[str, Any]) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = cluster
    info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()
