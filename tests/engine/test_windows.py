"""Windows, urgent sources and holds in a cluster whose time is moved by hand."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.engine.spreading import Cluster

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.moment import Moment
from reroll.core.model.timing import Hold, SourceTiming
from reroll.core.policy.windows import parse_windows
from reroll.core.tables.reasons import Reason
from reroll.engine.cluster_hold import ClusterHold, place_of
from reroll.engine.content import Source, content
from reroll.engine.executor import LONGEST_SLEEP
from reroll.kube import watch
from reroll.kube.objects import Stub
from reroll.pki import Span, new_authority

# It is Sunday, 12:00 UTC.
HOUR = 3600.0
CLOSED = {"window": "daily 13:00+1h UTC"}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def begun(cluster: Cluster, *keys: Key) -> None:
    """They are recorded with what there is."""
    cluster.configmap("old", version=1)
    cluster.run()
    assert {cluster.reasons[key] for key in keys} <= {Reason.ADOPTED, Reason.UP_TO_DATE}


def test_what_changed_while_it_was_closed_rolls_once_when_it_opens(cluster: Cluster) -> None:
    web = cluster.deployment("web", **CLOSED)
    begun(cluster, web)

    for value in ("new", "newer"):
        cluster.configmap(value)
        cluster.run()
        assert (cluster.reasons[web], cluster.rolled) == (Reason.WINDOW_CLOSED, [])
    cluster.later(HOUR, web)

    assert cluster.rolled == [web]
    cluster.later(HOUR, web)
    assert cluster.rolled == [web]


def test_a_window_that_closes_lets_those_under_way_end_and_holds_the_rest(
    cluster: Cluster,
) -> None:
    first = cluster.deployment("first", wave="0", window="daily 12:00-13:00")
    second = cluster.deployment("second", wave="1", window="daily 12:00-13:00")
    begun(cluster, first, second)
    cluster.configmap("new")
    cluster.run()
    assert (cluster.rolled, cluster.reasons[second]) == ([first], Reason.AFTER_OTHERS)

    cluster.clock.time += timedelta(hours=1)
    cluster.complete(first)
    cluster.run()
    assert cluster.later(0, first) == "healthy"
    assert cluster.reasons[second] is Reason.WINDOW_CLOSED
    assert cluster.messages[second].endswith("next opening 2026-03-02 12:00 UTC")
    cluster.later(23 * HOUR, second)
    assert cluster.rolled == [first, second]


def test_a_closed_window_keeps_the_waves_above_it_and_takes_nobodys_turn(cluster: Cluster) -> None:
    shut = cluster.deployment("a-shut", wave="0", max_parallel="one", **CLOSED)
    open_ = cluster.deployment("b-open", wave="0", max_parallel="one")
    above = cluster.deployment("c-above", wave="1")
    begun(cluster, shut, open_, above)
    cluster.configmap("new")
    cluster.run()

    assert cluster.rolled == [open_]
    cluster.complete(open_)
    cluster.run()
    assert cluster.later(0, open_) == "healthy"
    assert cluster.reasons[shut] is Reason.WINDOW_CLOSED
    assert cluster.reasons[above] is Reason.AFTER_OTHERS
    cluster.later(HOUR, shut)
    cluster.complete(shut)
    cluster.run()
    assert cluster.rolled == [open_, shut, above]


def test_a_source_says_when_its_changes_may_roll(cluster: Cluster) -> None:
    web = cluster.deployment("web")
    begun(cluster, web)

    cluster.configmap("new", window="daily 13:00+1h UTC", hold="until 2026-03-01T14:00:00Z x")
    cluster.run()
    assert cluster.reasons[web] is Reason.HELD
    found = cluster.world.sources.content(Key("ConfigMap", "shop", "app"))
    until = datetime(2026, 3, 1, 14, tzinfo=UTC)
    window = parse_windows("daily 13:00+1h UTC")
    assert getattr(found, "timing", None) == SourceTiming(Hold(until, "x"), window)
    assert not cluster.world.sources.paced, "nobody asked for a verdict"
    cluster.configmap("new", window="daily 13:00+1h UTC")
    cluster.run()
    assert cluster.reasons[web] is Reason.WINDOW_CLOSED
    cluster.configmap("new", window="daily 13:00+1h UTC", urgent="true")
    cluster.run()
    assert cluster.rolled == [web]


def test_a_window_of_a_source_that_cannot_be_read_is_closed_and_told(cluster: Cluster) -> None:
    web = cluster.deployment("web")
    begun(cluster, web)

    cluster.configmap("new", window="daily 13:00+1h Mars")
    cluster.run()

    assert cluster.reasons[web] is Reason.WINDOW_CLOSED
    assert "names the time zone 'Mars', which is not known here" in cluster.messages[web]


# A hold of everything

PLACE = place_of("reroll", "leader")


def held(text: str | None) -> Stub:
    annotations = {} if text is None else {"reroll.dev/hold": text}
    return Stub(Metadata(name=PLACE.name, namespace=PLACE.namespace, annotations=annotations))


def test_a_hold_of_everything_counts_at_once_and_whoever_waits_is_looked_at(
    cluster: Cluster,
) -> None:
    web, other = cluster.deployment("web"), cluster.deployment("other")
    begun(cluster, web, other)
    hold = ClusterHold(cluster.world, PLACE, lambda key, _: cluster.woken.setdefault(key))

    def tell(*events: Any) -> set[Key]:
        for event in events:
            hold.fold(event)
        return set(cluster.woken)

    assert tell(watch.Init(), watch.InitDone("1")) == set()
    assert tell(watch.Apply(held("incident 42"))) == {web, other}
    cluster.configmap("new")
    cluster.run()
    assert cluster.reasons[web] is Reason.HELD
    assert "incident 42" in cluster.messages[web]
    # A list that breaks and begins again, and then tells the same: nobody is looked at.
    assert tell(watch.Init(), watch.Init(), watch.InitApply(held("incident 42"))) == set()
    assert tell(watch.InitDone("2")) == set()
    # It was deleted while nobody watched.
    assert tell(watch.Init(), watch.InitDone("3")) == {web, other}
    cluster.run()
    assert set(cluster.rolled) == {web, other}
    assert (PLACE.name, cluster.world.hold) == ("leader-hold", None)


@pytest.mark.parametrize(
    "event", [watch.Delete(held("x")), watch.Absent(), watch.Apply(held(None))]
)
def test_it_ends_when_its_object_goes_or_says_nothing_any_more(
    cluster: Cluster, event: Any
) -> None:
    hold = ClusterHold(cluster.world, PLACE, lambda *_: None)
    hold.fold(watch.Apply(held("x")))
    assert cluster.world.hold == Hold(why="x")

    hold.fold(event)

    assert cluster.world.hold is None


# Certificates

ENDS = datetime(2026, 6, 1, tzinfo=UTC)


def tls(kind: str, text: bytes) -> Source:
    data = {"tls.crt": base64.b64encode(text).decode(), "tls.key": "aGlkZGVu"}
    document = {"metadata": {"name": "tls", "namespace": "shop"}, "type": kind, "data": data}
    return msgspec.json.decode(msgspec.json.encode(document), type=Source)


def test_of_a_certificate_its_end_is_kept_and_nothing_else() -> None:
    pair = new_authority("shop.example", Span(ENDS - timedelta(days=90), ENDS))
    keyring = {"k": b"x" * 32}

    found = content(tls("kubernetes.io/tls", pair.certificate), keyring, Moment())

    assert found.expires == ENDS
    assert b"shop.example" not in msgspec.json.encode(found)
    for kind, text in (("Opaque", pair.certificate), ("kubernetes.io/tls", b"spoilt")):
        assert content(tls(kind, text), keyring, Moment()).expires is None


def test_nobody_sleeps_for_longer_than_an_hour() -> None:
    """Clocks are set, and machines sleep."""
    assert LONGEST_SLEEP == HOUR
