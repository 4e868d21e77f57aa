"""Every way to log in, at the real API server: it says who it thinks we are."""

import asyncio
import base64
import json
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from tests.kube.servers import Server, drop

from reroll.kube import auth, errors, wire
from reroll.kube.client import Client

REVIEWS = wire.Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
V1 = "client.authentication.k8s.io/v1"


async def who(connection):
    async with Client(connection) as client:
        return await who_of(client)


async def who_of(client):
    body = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind}
    answer = json.loads(await client.send(wire.create(REVIEWS, None, body)))
    return answer["status"]["userInfo"]["username"]


@pytest.fixture
def given(cluster):
    """The kubeconfig of the cluster's administrator, as a document to change."""
    return yaml.safe_load(cluster.kubeconfig("admin").read_text())


@pytest.fixture
def token(given):
    return given["users"][0]["user"]["token"]


@pytest.fixture
def load(given, tmp_path):
    """The connection of the administrator's kubeconfig with other settings."""

    def with_settings(user=None, cluster=None):
        if user is not None:
            given["users"][0]["user"] = user
        given["clusters"][0]["cluster"].update(cluster or {})
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(given))
        return auth.load({"PATH": "/usr/bin:/bin"}, kubeconfig=str(path))

    return with_settings


@pytest.fixture
def certificate(cluster):
    """The kubeconfig user of someone with a client certificate."""
    name = "ann"
    known = cluster.layout.kubeconfig(name)
    path = known if known.exists() else cluster.add_identity(name)
    return yaml.safe_load(path.read_text())["users"][0]["user"]


async def test_with_a_token(load, token):
    assert await who(load({"token": token})) == "admin"


async def test_with_a_client_certificate_inline(load, certificate):
    assert await who(load(certificate)) == "ann"


async def test_with_a_client_certificate_in_files(load, certificate, tmp_path):
    for part in ("certificate", "key"):
        content = base64.b64decode(certificate[f"client-{part}-data"])
        (tmp_path / f"{part}.pem").write_bytes(content)
    user = {"client-certificate": "certificate.pem", "client-key": "key.pem"}

    assert await who(load(user)) == "ann"


async def test_with_an_authority_in_a_file(load, token, cluster, given):
    del given["clusters"][0]["cluster"]["certificate-authority-data"]
    ca = str(cluster.folder / "pki" / "ca.crt")

    assert await who(load({"token": token}, {"certificate-authority": ca})) == "admin"


async def test_without_checking_the_server(load, token, given):
    del given["clusters"][0]["cluster"]["certificate-authority-data"]

    assert await who(load({"token": token}, {"insecure-skip-tls-verify": True})) == "admin"


async def test_a_server_that_is_not_trusted_is_a_sentence(load, token, given):
    del given["clusters"][0]["cluster"]["certificate-authority-data"]

    with pytest.raises(
        errors.Unavailable, match=r"is not trusted: .*; check certificate-authority"
    ):
        await who(load({"token": token}))


async def test_under_another_name_of_the_server(load, token):
    assert await who(load({"token": token}, {"tls-server-name": "kubernetes"})) == "admin"


async def test_under_a_name_the_server_has_not(load, token):
    with pytest.raises(errors.Unavailable, match="is not trusted: Hostname mismatch"):
        await who(load({"token": token}, {"tls-server-name": "other.example"}))


async def test_as_someone_else(load, token):
    assert await who(load({"token": token, "as": "bob", "as-groups": ["a", "b"]})) == "bob"


async def test_without_credentials_nobody_is_let_in(load):
    with pytest.raises((errors.Forbidden, errors.Unauthorized)):
        await who(load({}))


async def test_with_a_wrong_token(load):
    with pytest.raises(errors.Unauthorized):
        await who(load({"token": "wrong"}))


async def test_with_a_token_file_that_is_written_anew(load, token, tmp_path):
    path = tmp_path / "token"
    path.write_text("old and expired")

    async with Client(load({"tokenFile": str(path)})) as client:
        with pytest.raises(errors.Unauthorized):
            await who_of(client)
        path.write_text(token)
        assert await who_of(client) == "admin"


# Exec plugins


@pytest.fixture
def plugin(tmp_path):
    """An exec plugin that prints what stands in a file, and counts its runs."""

    def write(status):
        answer = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
        (tmp_path / "answer").write_text(json.dumps(answer))
        script = tmp_path / "plugin"
        script.write_text(f"#!/bin/sh\necho >> {tmp_path}/runs\ncat {tmp_path}/answer\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return {"exec": {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never"}}

    return write


async def test_with_a_token_from_an_exec_plugin(load, token, plugin, tmp_path):
    async with Client(load(plugin({"token": token}))) as client:
        assert await who_of(client) == "admin"
        assert await who_of(client) == "admin"

    assert (tmp_path / "runs").read_text() == "\n"


async def test_with_a_certificate_from_an_exec_plugin(load, certificate, plugin):
    parts = {
        f"client{part.title()}Data": base64.b64decode(certificate[f"client-{part}-data"]).decode()
        for part in ("certificate", "key")
    }

    assert await who(load(plugin(parts))) == "ann"


async def test_a_refused_token_makes_the_exec_plugin_run_again(load, token, plugin, tmp_path):
    connection = load(plugin({"token": "expired"}))
    async with Client(connection) as client:
        with pytest.raises(errors.Unauthorized):
            await who_of(client)
        plugin({"token": token})
        assert await who_of(client) == "admin"

    # Run for the first request, once more because it was refused; again for the second.
    assert len((tmp_path / "runs").read_text()) == 3


async def test_a_broken_exec_plugin_is_a_sentence_in_the_tree_of_errors(load):
    user = {"exec": {"apiVersion": V1, "command": "no-such", "installHint": "get it from us"}}

    with pytest.raises(errors.Unauthorized, match=r"no-such.*cannot be started.*get it from us"):
        await who(load(user))


# In a pod


async def test_with_the_service_account_of_a_pod(cluster, token, given, tmp_path):
    where = urlsplit(given["clusters"][0]["cluster"]["server"])
    (tmp_path / "token").write_text("not yet valid")
    (tmp_path / "ca.crt").write_bytes((cluster.folder / "pki" / "ca.crt").read_bytes())
    (tmp_path / "namespace").write_text("here")
    env = {"KUBERNETES_SERVICE_HOST": where.hostname, "KUBERNETES_SERVICE_PORT": str(where.port)}
    connection = auth.load(env, service_account=tmp_path)

    async with Client(connection) as client:
        with pytest.raises(errors.Unauthorized):
            await who_of(client)
        (tmp_path / "token").write_text(token)
        assert await who_of(client) == "admin"
    assert connection.namespace == "here"


# Through a proxy


class ConnectProxy(Server):
    """An HTTP proxy that knows nothing but CONNECT, and writes down whom it connected to."""

    def __init__(self):
        self.asked = []
        self.answer = b"HTTP/1.1 200 OK\r\n\r\n"

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        writer.write(self.answer)
        await writer.drain()
        if b" 200 " not in self.answer:
            return
        host, port = head.split(" ")[1].rsplit(":", 1)
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, there_writer))
                group.create_task(_pump(there_reader, writer))
        except* OSError:
            pass
        finally:
            await drop(there_writer)


async def _pump(reader, writer):
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    raise ConnectionResetError  # the other direction ends with this one


async def test_through_a_proxy(load, token):
    async with ConnectProxy() as proxy:
        connection = load({"token": token}, {"proxy-url": proxy.url})
        assert await who(connection) == "admin"

    where = urlsplit(connection.route.server)
    assert proxy.asked[0].startswith(f"CONNECT {where.hostname}:{where.port} HTTP/1.1")
    assert token not in "".join(proxy.asked)


async def test_through_a_proxy_under_another_name_of_the_server(load, token):
    async with ConnectProxy() as proxy:
        settings = {"proxy-url": proxy.url, "tls-server-name": "kubernetes"}
        assert await who(load({"token": token}, settings)) == "admin"


async def test_through_a_proxy_that_refuses(load, token):
    async with ConnectProxy() as proxy:
        proxy.answer = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"

        with pytest.raises(errors.Unavailable, match="the proxy refused with status 403"):
            await who(load({"token": token}, {"proxy-url": proxy.url}))


async def test_through_a_proxy_that_is_not_there(load, token):
    async with ConnectProxy() as proxy:
        url = proxy.url

    with pytest.raises(errors.Unavailable, match="cannot connect to the proxy"):
        await who(load({"token": token}, {"proxy-url": url}))


def test_no_file_of_the_user_is_read(tmp_path):
    with pytest.raises(errors.ConfigError):
        auth.load({"HOME": str(tmp_path)}, service_account=Path("/nonexistent"))
