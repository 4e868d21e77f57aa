"""A hash is never made of other values than those that a roll was decided on."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
from tests.kube.follow import connect
from tests.support import build
from tests.support.wave import HASH, IN, expected_hash

from reroll.clock import SystemClock
from reroll.core.dialects.table import ALL
from reroll.core.dialects.wave import WAVE
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.moment import Moment
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.observe.workload import workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.kinds import KINDS
from reroll.engine.content import Source, content
from reroll.engine.scope import Scope
from reroll.engine.strategies.value_marks import made_of, marks_of_values
from reroll.engine.world import World
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, Forbidden
from reroll_dev.api import Api, path_to

DEPLOYMENT = KINDS[0]
RULES = [
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
]


@pytest.fixture
def web(api: Api, namespace: str) -> build.Object:
    """A Deployment that uses a ConfigMap and a Secret, and the two of them."""
    made = build.deployment("web", uses=["configmap/app", "secret/db?"], annotations=IN)
    for one in (build.configmap("app"), build.secret("db"), made):
        api.create(one, namespace=namespace)
    return api.get(path_to("Deployment", "web", namespace))


@pytest.fixture
async def client(kubeconfig_for: Callable[..., Path]) -> AsyncIterator[Client]:
    """One that may read no Secret."""
    async with connect(kubeconfig_for(RULES, None)) as made:
        yield made


def seen(api: Api, web: build.Object) -> Snapshot:
    """A decision about the Deployment, as the ConfigMap is now."""
    namespace = web["metadata"]["namespace"]
    manifest = msgspec.json.decode(json.dumps(web), type=Manifest)
    text = json.dumps(api.get(path_to("ConfigMap", "app", namespace)))
    app = msgspec.json.decode(text, type=Source)
    sources: dict[Key, Content | Absence] = {
        Key("ConfigMap", namespace, "app"): content(app, None, Moment()),
        Key("Secret", namespace, "db"): Absence.FORBIDDEN,
    }
    found = workload(DEPLOYMENT, manifest, None, words=ALL.words)
    return Snapshot(found, DEPLOYMENT, Policy(), (), sources)


def world() -> World:
    keys = Key("Secret", "reroll", "keys")
    return World(SystemClock(), Scope(Policy()), keys, wake=lambda *_: None, want=lambda _: None)


async def hash_of(client: Client, decided: Snapshot) -> str | None:
    assert WAVE.of_values is not None
    wanted = await made_of(client, decided, [WAVE.of_values])
    (mark,) = await marks_of_values(client, world().sources, decided, wanted)
    assert mark.name == HASH
    return mark.value


async def test_what_may_not_be_read_is_no_part_of_it(
    api: Api, client: Client, web: build.Object
) -> None:
    namespace = web["metadata"]["namespace"]
    decided = seen(api, web)
    api.delete(path_to("Secret", "db", namespace))

    assert await hash_of(client, decided) == expected_hash(api, namespace, web)


async def test_a_source_that_changed_after_the_decision_makes_it_anew(
    api: Api, client: Client, web: build.Object
) -> None:
    decided = seen(api, web)
    api.patch(path_to("ConfigMap", "app", web["metadata"]["namespace"]), {"data": {"key": "2"}})

    with pytest.raises(Conflict, match="changed while"):
        await hash_of(client, decided)


async def test_a_source_that_went_away_after_the_decision_makes_it_anew(
    api: Api, client: Client, web: build.Object
) -> None:
    decided = seen(api, web)
    api.delete(path_to("ConfigMap", "app", web["metadata"]["namespace"]))

    with pytest.raises(Conflict, match="changed while"):
        await hash_of(client, decided)


async def test_a_right_that_was_taken_away_is_told_as_such(
    api: Api, client: Client, web: build.Object
) -> None:
    db = Key("Secret", web["metadata"]["namespace"], "db")
    decided = seen(api, web)
    known = {**decided.sources, db: Content({"": {}})}

    with pytest.raises(Forbidden):
        await hash_of(client, msgspec.structs.replace(decided, sources=known))
