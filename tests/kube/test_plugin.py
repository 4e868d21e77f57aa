import asyncio
import base64
import json
import os
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.kube.fakes import StillClock

from reroll.kube.errors import AuthError
from reroll.kube.kubeconfig import EnvVar, Exec
from reroll.kube.plugin import Plugin

V1 = "client.authentication.k8s.io/v1"
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@pytest.fixture
def script(tmp_path):
    """Write an executable; `runs()` counts how often it was started."""

    def write(body):
        path = tmp_path / "plugin"
        path.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return write


@pytest.fixture
def runs(tmp_path):
    def count():
        path = tmp_path / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    return count


def prints(version=V1, **status):
    document = {"kind": "ExecCredential", "apiVersion": version, "status": status}
    return f"cat <<'END'\n{json.dumps(document)}\nEND"


def plugin(command, *, clock=None, version=V1, cluster=None, **more):
    settings = Exec(command=command, api_version=version, **more)
    return Plugin(settings, "ann", PATH, cluster or {}, clock or StillClock())


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
async def test_a_plugin_gives_a_token(script, version):
    made = plugin(script(prints(version, token="t-1")), version=version)

    assert (await made.credential()).token == "t-1"


async def test_a_plugin_gives_a_certificate_with_its_key(script):
    made = plugin(script(prints(clientCertificateData="CERT", clientKeyData="KEY")))

    credential = await made.credential()
    assert (credential.certificate, credential.key) == (b"CERT", b"KEY")


async def test_a_credential_without_an_end_is_got_once(script, runs):
    clock = StillClock()
    made = plugin(script(prints(token="t")), clock=clock)

    first = await made.credential()
    clock.move(10**6)

    assert await made.credential() is first
    assert runs() == 1


async def test_a_credential_is_got_anew_shortly_before_its_end(script, runs):
    clock = StillClock()
    end = clock.now().timestamp() + 600
    stamp = datetime.fromtimestamp(end, UTC).isoformat()
    made = plugin(script(prints(token="t", expirationTimestamp=stamp)), clock=clock)

    await made.credential()
    clock.move(580)
    await made.credential()
    assert runs() == 1
    clock.move(15)
    await made.credential()
    assert runs() == 2


async def test_a_refused_credential_is_got_anew_once_for_all_who_were_refused(script, runs):
    made = plugin(script(prints(token="t")))
    first = await made.credential()

    both = await asyncio.gather(made.credential(first), made.credential(first))

    assert both[0] is both[1] is not first
    assert runs() == 2


async def test_a_plugin_gets_its_arguments_environment_and_what_kubernetes_tells(script):
    cluster = {"server": "https://k8s"}
    body = (
        'test "$1 $2 $MODE" = "get token fast" || exit 1\n'
        'printf \'{"apiVersion":"%s","status":{"token":"%s"}}\' '
        f'{V1} "$(printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d \'\\n\')"'
    )
    made = plugin(
        script(body),
        args=["get", "token"],
        env=[EnvVar("MODE", "fast")],
        provide_cluster_info=True,
        cluster=cluster,
    )

    told = json.loads(base64.b64decode((await made.credential()).token))
    assert told == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {"interactive": False, "cluster": cluster},
    }


async def test_a_plugin_that_reads_from_the_terminal_reads_nothing(script):
    made = plugin(script(f"read line || true\n{prints(token='t')}"))

    assert (await made.credential()).token == "t"


async def test_a_plugin_is_found_on_the_path_that_was_given(tmp_path, script):
    script(prints(token="t"))
    settings = Exec(command="plugin", api_version=V1)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    made = Plugin(settings, "ann", env, {}, StillClock())

    assert (await made.credential()).token == "t"


async def test_a_missing_plugin_is_a_sentence_with_the_hint():
    made = plugin("no-such-plugin", install_hint="brew install no-such-plugin")

    with pytest.raises(AuthError) as caught:
        await made.credential()
    assert str(caught.value) == (
        "exec plugin 'no-such-plugin' of user 'ann' cannot be started: No such file or directory; "
        "brew install no-such-plugin"
    )


async def test_a_failing_plugin_is_a_sentence_with_what_it_said_but_not_what_it_gave(script):
    made = plugin(script("echo secret-token; echo 'please log in' >&2; exit 3"))

    with pytest.raises(AuthError, match="failed with exit code 3: please log in") as caught:
        await made.credential()
    assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("echo secret-token", "did not print an ExecCredential in JSON"),
        (prints("client.authentication.k8s.io/v1beta1", token="secret-token"), "answered with"),
        (prints(clientCertificateData="secret-token"), "gave neither a token nor a certificate"),
        (prints(), "gave neither a token nor a certificate"),
    ],
    ids=["no JSON", "another version", "a certificate without its key", "nothing"],
)
async def test_what_a_plugin_must_not_answer_is_a_sentence(script, output, sentence):
    with pytest.raises(AuthError, match=sentence) as caught:
        await plugin(script(output)).credential()
    assert "secret-token" not in str(caught.value)


async def test_a_failure_is_not_kept(tmp_path, script):
    made = plugin(script(f"test -e {tmp_path}/ready || exit 1\n{prints(token='t')}"))
    with pytest.raises(AuthError):
        await made.credential()

    (tmp_path / "ready").touch()

    assert (await made.credential()).token == "t"


async def given_up(command, pid_file):
    """Wait for a plugin until it has written a pid, and then no longer; the pid."""
    task = asyncio.create_task(plugin(command).credential())
    while not (pid_file.exists() and pid_file.read_text().strip()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return int(pid_file.read_text())


async def test_a_plugin_is_ended_with_the_one_who_waits_for_it(tmp_path, script):
    pid = await given_up(script(f"echo $$ > {tmp_path}/pid; exec sleep 1000"), tmp_path / "pid")

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_plugin_is_ended_with_what_it_started(tmp_path, script):
    """A wrapper that waits for a program which hangs: that one holds the pipes open."""
    pid = await given_up(script(f"sleep 1000 & echo $! > {tmp_path}/pid; wait"), tmp_path / "pid")

    while _runs(pid):
        await asyncio.sleep(0.01)


async def test_a_plugin_that_is_given_up_while_it_starts_is_ended_too(tmp_path, script):
    """However early: what it started already holds its pipes open."""
    command = script(f"sleep 1000 & echo $! >> {tmp_path}/pids; wait")
    for ticks in range(40):
        task = asyncio.create_task(plugin(command).credential())
        for _ in range(ticks):
            await asyncio.sleep(0)
        time.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), 20)

    pids = (tmp_path / "pids").read_text().split()
    assert pids
    while any(map(_runs, pids)):
        await asyncio.sleep(0.01)


def _runs(pid):
    """Whether there is such a process; one that nobody has asked about yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_an_old_version_of_the_protocol_is_refused():
    with pytest.raises(AuthError, match="v1alpha1'; reroll knows"):
        plugin("x", version="client.authentication.k8s.io/v1alpha1")


def test_a_plugin_that_must_have_a_terminal_is_refused():
    with pytest.raises(AuthError, match="needs a terminal"):
        plugin("x", interactive_mode="Always")
