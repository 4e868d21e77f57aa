"""Who is told what, once per change, whatever is killed and whoever does not answer."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.scenarios.propagating import (
    Start,
    all_healthy,
    begun,
    change,
    healed,
    judged,
    sick,
    told,
    web,
)
from tests.scenarios.receiving import Got, Receiving
from tests.scenarios.stage import Controller, Stage, Web, eventually
from tests.support import build
from tests.support.command import reroll
from tests.support.tools import kubeconfig_of

from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

CROWD = 40
LISTENING = "0A"
"""In the kernel's table of connections."""
SECRET = "s3cr3t"


@pytest.fixture
def receiving() -> Iterator[Receiving]:
    one = Receiving()
    yield one
    one.end()


def config(folder: Path, *rows: dict[str, Any]) -> tuple[str, str]:
    """The flags of a controller with these rows."""
    path = folder / "reroll.yaml"
    path.write_text(json.dumps({"notices": [{"gather": "1s", **row} for row in rows]}))
    return "--config", str(path)


def hook(receiving: Receiving, name: str = "hook", **more: Any) -> dict[str, Any]:
    return {"name": name, "to": {"webhook": {"url": f"{receiving.url}/{name}/{SECRET}"}}, **more}


def crowd(stage: Stage, number: int) -> tuple[build.Object, list[build.Object]]:
    """One whose next pods fail, and so many that come after it."""
    stage.make(build.configmap())
    first = sick(stage, web("first", wave="0", on_failure="hold"))
    rest = [web(n, wave="1", replicas=1) for n in range(number)]
    stage.make(*rest)
    return first, rest


def stop_all(stage: Stage, first: build.Object) -> None:
    change(stage, "bad")
    judged(stage, first, "failed")


def mend(stage: Stage, first: build.Object, rest: list[build.Object]) -> None:
    # What takes long on a busy machine is no second failure.
    stage.api.patch(stage.path(first), {"spec": {"progressDeadlineSeconds": 600}})
    healed(stage, first)
    change(stage, "good")
    all_healthy(stage, [first, *rest])


def news(found: list[Got]) -> Counter[tuple[str, str]]:
    return Counter(one.news for one in found)


def state(stage: Stage) -> dict[str, list[dict[str, Any]]]:
    """What the controller wrote down that it told."""
    path = path_to("ConfigMap", "", stage.namespace)
    [found] = stage.api.list(path, labelSelector="reroll.dev/notices=reroll") or [{}]
    return {name: json.loads(text) for name, text in found.get("data", {}).items()}


def previewed(stage: Stage, config: str, cluster: DevCluster) -> list[dict[str, Any]]:
    where = ("-n", stage.namespace, "--kubeconfig", kubeconfig_of(cluster, "admin"))
    engine = ("--controller-namespace", stage.namespace, "--config", config)
    done = reroll("notice", "preview", *where, *engine, "-o", "json")
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = done.json["messages"]
    return found


@pytest.mark.slow
def test_a_stop_of_many_workloads_is_one_notice_and_so_is_its_end(
    stage: Stage,
    controller: Start,
    tmp_path: Path,
    receiving: Receiving,
    web: Web,
    cluster: DevCluster,
) -> None:
    first, rest = crowd(stage, CROWD)
    # Time enough to hear of all of them, on a busy machine too.
    rows = (hook(receiving, gather="4s"), hook(receiving, "named", where={"named": True}))
    # Whoever leads goes on to, until it gives the lease back.
    flags = (*config(tmp_path, *rows), "--lease-duration", "30s")
    stage.annotate(first, notice="named")
    stage.annotate(rest[0], notice="nobody")
    one = controller(*flags, *web.flags)
    other = controller(*flags, wait="watching")
    for each in (first, *rest):
        stage.adopted(each)
        stage.settled(each)

    stop_all(stage, first)
    eventually(lambda: len(receiving.at("/hook")) == 2, "both kinds of news are told")
    assert news(receiving.at("/hook")) == {("stopped", "open"): 1, ("failed", "open"): 1}
    [stopped] = [got.said for got in receiving.at("/hook") if got.news[0] == "stopped"]
    assert stopped["count"] == CROWD
    assert len(stopped["workloads"]) == 5
    assert stopped["sources"] == f"configmap {stage.namespace}/app"
    eventually(lambda: receiving.at("/named"), "the other one is told too")
    assert [got.said["count"] for got in receiving.at("/named")] == [1]
    told(stage, rest[0], "InvalidAnnotation", "no notice is called 'nobody'; there are hook, named")

    shown = previewed(stage, flags[1], cluster)
    assert sorted((one["notice"], one["news"], one["count"]) for one in shown) == [
        ("hook", "failed", 1),
        ("hook", "stopped", CROWD),
        ("named", "failed", 1),
    ]
    assert SECRET not in json.dumps(shown)
    assert json.loads(shown[0]["body"])["change"] in {got.said["change"] for got in receiving.got}

    sent = 'reroll_notices_total{notice="hook",result="sent"}'
    eventually(lambda: web.metrics().get(sent) == 2, "both are counted once they are answered")
    assert SECRET not in web.get("/metrics")[1]

    assert one.stop() == 0  # The other one tells the rest.
    mend(stage, first, rest)
    eventually(lambda: len(receiving.at("/hook")) == 4, "the end of both is told")
    ended = [got.said for got in receiving.at("/hook")[2:]]
    assert {said["title"] for said in ended} == {f"Healthy again: configmap {stage.namespace}/app"}
    eventually(lambda: not any(state(stage).values()), "nothing is open any more")

    assert len(receiving.at("/hook")) == 4
    for each in (one, other):
        assert SECRET not in each.log.read_text()
    annotations = stage.get(rest[1])["metadata"]["annotations"]
    assert not [name for name in annotations if "notice" in name], "nothing is on users' objects"


@pytest.mark.slow
def test_whatever_is_killed_in_a_storm_no_problem_is_untold_and_none_told_twice(
    stage: Stage, controller: Start, tmp_path: Path, receiving: Receiving
) -> None:
    first, rest = crowd(stage, CROWD)
    token = tmp_path / "token"
    token.write_text(SECRET)
    bot = {"token-file": str(token), "channel": "C01", "api": f"{receiving.url}/bot"}
    flags = config(
        tmp_path,
        hook(receiving),
        {"name": "event", "to": {"cloudevents": {"url": f"{receiving.url}/event"}}},
        {"name": "bot", "to": {"slack": bot}},
    )
    one = begun(stage, controller, [first, *rest], *flags)

    stop_all(stage, first)
    for moment in (1, random.randint(2, 4)):
        killed_after(one, stage, receiving, moment)
    eventually(lambda: is_told(receiving), "all is told")
    mend(stage, first, rest)
    eventually(lambda: not any(state(stage).values()), "the end of all of it is told")

    for path in ("/hook", "/event"):
        both = {(kind, when) for kind in ("stopped", "failed") for when in ("open", "over")}
        ids = {(got.news, got.said["id"]) for got in receiving.at(path)}
        assert Counter(which for which, _ in ids) == dict.fromkeys(both, 1), "one id for each"
    posted = {got.news[0] for got in receiving.at("/bot/chat.postMessage")}
    assert posted == {"stopped", "failed"}
    updated = [got.body["text"] for got in receiving.at("/bot/chat.update")]
    assert any("Healthy again" in text for text in updated)


def killed_after(one: Controller, stage: Stage, receiving: Receiving, messages: int) -> None:
    """Kill it before a message is answered, start it anew, and see that it repeats nothing.

    What it had written down as told is not told again; what was never answered may be.
    """
    until = len(receiving.got) + messages

    def kill(_: Got) -> None:
        if len(receiving.got) >= until and one.process is not None:
            one.process.kill()

    def is_ended() -> bool:
        return one.process is not None and one.process.poll() is not None

    receiving.before_answer = kill
    eventually(lambda: is_ended() or is_told(receiving), "it is killed, or has told everything")
    one.kill()
    receiving.before_answer = lambda _: None
    known = {
        (f"/{name}", entry["news"], "open")
        for name, entries in state(stage).items()
        for entry in entries
        if entry.get("sent")
    }
    before, seen = len(receiving.got), len(one.lines())
    one.start(wait="watching")
    one.wait_for(lambda line: line["msg"] == "notices swept", since=seen)
    for got in receiving.got[before:]:
        if not got.path.endswith("/chat.update"):
            assert (f"/{got.path.split('/')[1]}", *got.news) not in known


def is_told(receiving: Receiving) -> bool:
    return all(len(receiving.at(path)) >= 2 for path in ("/hook", "/event", "/bot"))


def test_receivers_that_refuse_or_say_nothing_delay_no_roll_and_nobody_else(
    stage: Stage, controller: Start, tmp_path: Path, receiving: Receiving
) -> None:
    receiving.status, asked, is_over = 503, Event(), Event()

    def say_nothing(got: Got) -> None:
        if got.path.startswith("/silent"):
            asked.set()
            is_over.wait(60)

    receiving.before_answer = say_nothing
    webs = [web(n) for n in range(3)]
    stage.make(build.configmap(), *webs)
    rows = (hook(receiving, name, about=["all"]) for name in ("hook", "silent"))
    one = begun(stage, controller, webs, *config(tmp_path, *rows))
    for value in ("second", "third"):
        records = [stage.record(each) for each in webs]
        change(stage, value)
        for each, record in zip(webs, records, strict=True):
            stage.rolled(each, record["n"])
        assert asked.wait(60), "one has a message, and says nothing"

    def refused(line: Mapping[str, Any]) -> bool:
        return line["msg"] == "notice not sent" and line["notice"] == "hook"

    assert "503" in one.wait_for(refused)["problem"]
    assert SECRET not in one.log.read_text()

    receiving.status = 200
    eventually(lambda: len(receiving.at("/hook")) == 2, "both changes are told in the end")
    is_over.set()
    for got in receiving.at("/hook"):
        assert got.news == ("rolled", "open")
        assert got.said["count"] == 3


def test_without_a_row_it_speaks_with_the_api_server_alone(
    stage: Stage, controller: Start, cluster: DevCluster
) -> None:
    one_of_them = web(0)
    stage.make(build.configmap(), one_of_them)
    one = begun(stage, controller, [one_of_them])
    before = stage.record(one_of_them)["n"]
    change(stage, "second")
    stage.rolled(one_of_them, before)

    assert one.process is not None
    server = urlsplit(cluster.server).port
    assert peers(one.process.pid) == {server}
    assert state(stage) == {}


def peers(pid: int) -> set[int]:
    """The ports that a process is connected to."""
    mine = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            mine.add(file.readlink().name.removeprefix("socket:[").removesuffix("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, _, remote, status, *rest = line.split()
            if status != LISTENING and rest[5] in mine:
                found.add(int(remote.rpartition(":")[2], 16))
    return found
