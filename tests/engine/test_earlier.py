"""What is kept from listing to listing, and when it counts no more."""

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.dashboard.sample import StillClock
from tests.engine.test_sources import DB, SECRET, WEB, asking
from tests.kube.follow import connect
from tests.support import build

from reroll.clock import SystemClock
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence
from reroll.engine.content import Source
from reroll.engine.earlier import FOR, Earlier
from reroll.engine.listing import Listing
from reroll.engine.many import MANY
from reroll.engine.sources import Sources
from reroll.kube.client import Client
from reroll.kube.view import View
from reroll.settings.table import Settings
from reroll_dev.api import path_to

RING = {"k": b"0123456789abcdef"}


def metadata(version: int = 7, uid: str = "u") -> Metadata:
    said = {"namespace": "shop", "name": "db", "uid": uid, "resourceVersion": str(version)}
    return msgspec.json.decode(json.dumps(said), type=Metadata)


def sources(*, read: bool = False) -> Sources:
    """With one that a workload uses."""
    found = asking([])
    found.keyring = RING
    found.add_user(WEB, DB, Reference(DB))
    if read:
        whole = {"metadata": msgspec.to_builtins(metadata()), "data": {"a": "eA=="}}
        one = msgspec.json.decode(msgspec.json.encode(whole), type=Source)
        found.observe(SECRET, one, watched=False)
    return found


def kept(clock: StillClock) -> Earlier:
    earlier = Earlier(clock).under(Settings())
    earlier.begin(RING)
    earlier.keep(sources(read=True))
    assert len(earlier) == 1
    return earlier


def recalled(earlier: Earlier, told: Metadata) -> Content | Absence:
    again = sources()
    earlier.recall(again, DB, told)
    return again.content(DB)


def test_what_was_read_of_a_secret_counts_for_that_version_of_that_secret_alone() -> None:
    clock = StillClock()
    earlier = kept(clock)
    found = recalled(earlier, metadata())
    assert isinstance(found, Content)
    assert found.keys == {"a"}
    assert recalled(earlier, metadata(version=8)) is Absence.UNREAD
    assert recalled(earlier, metadata(uid="made again")) is Absence.UNREAD
    clock.seconds += FOR + 1
    assert recalled(earlier, metadata()) is Absence.UNREAD, "it is read again after a while"


def test_it_does_not_count_with_other_digest_keys_or_settings() -> None:
    clock = StillClock()
    rotated = kept(clock)
    rotated.begin(RING)
    assert len(rotated) == 1
    rotated.begin({**RING, "new": b"fedcba9876543210"})
    assert len(rotated) == 0
    assert len(kept(clock).under(Settings())) == 1
    assert len(kept(clock).under(Settings(lease="other"))) == 0


def test_a_secret_that_lets_none_of_its_users_in_is_not_told_of() -> None:
    earlier, again = kept(StillClock()), asking([])
    again.keyring = RING
    again.add_user(Key("Deployment", "elsewhere", "web"), DB, Reference(DB))
    again.metadata_seen(DB, metadata(), watched=False)
    earlier.recall(again, DB, metadata())
    assert again.content(DB) is Absence.MISSING


def test_what_is_kept_stays_as_old_as_it_is() -> None:
    clock = StillClock()
    earlier = kept(clock)
    for _ in range(3):
        clock.seconds += FOR / 2
        again = sources()
        earlier.recall(again, DB, metadata())
        earlier.keep(again)
    assert len(earlier) == 0, "to be asked for again and again makes it no newer"


@pytest.fixture
async def client(cluster: Any) -> AsyncIterator[Client]:
    async with connect(cluster.kubeconfig("admin")) as made:
        yield made


@pytest.mark.cluster
async def test_a_listing_reads_the_secrets_that_changed_and_keeps_the_others(
    client: Client, api: Any, namespace: str
) -> None:
    annotations, names = {"reroll.dev/enabled": "true"}, [f"app-{n}" for n in range(MANY)]
    for name in names:
        workload = build.deployment(name, uses=f"secret/{name}", annotations=annotations)
        for one in (build.secret(name), workload):
            api.create({**one, "metadata": {**one["metadata"], "namespace": namespace}})
    earlier, found = Earlier(SystemClock()), []
    for at in range(2):
        view, settings = View(client, namespace, namespace), Settings()
        listing = Listing(view, SystemClock(), settings, namespace, earlier.under(settings))
        await listing.fill(make_key=True)
        assert view.gaps == []
        found.append([listing.world.sources.content(Key("Secret", namespace, n)) for n in names])
        if not at:
            body = {"stringData": {"password": "correct horse"}}
            api.patch(path_to("Secret", names[0], namespace), body)
    first, second = found
    assert all(isinstance(one, Content) for one in first + second)
    assert second[0] != first[0]
    assert [id(one) for one in second[1:]] == [id(one) for one in first[1:]]
