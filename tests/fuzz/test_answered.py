"""Whatever the API server answers: an `ApiError`, or it is taken in. Nothing else leaves."""

import asyncio
from contextlib import suppress
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz import documents
from tests.fuzz.bench import Answers, Bench, run
from tests.fuzz.mutate import bodies, encode, near
from tests.fuzz.profile import fuzz
from tests.fuzz.seeded import just
from tests.kube.fakes import StillClock

from reroll.controller.context import Context
from reroll.controller.metrics import Metrics
from reroll.core.model.key import Key
from reroll.core.tables.custom import tables
from reroll.engine import keyring, row_checks, schemas
from reroll.engine.ports import EnginePort
from reroll.engine.strategies import pending_jobs
from reroll.engine.strategies.jobs import Jobs
from reroll.features.admission import certificates
from reroll.features.injection.feature import Injections
from reroll.kube import discovery
from reroll.kube.errors import ApiError
from reroll.kube.lease import Leadership
from reroll.kube.objects import DataObject
from reroll.settings.resolve import resolve

ROW = {
    "group": "example.com",
    "version": "v1",
    "kind": "Machine",
    "resource": "machines",
    "template": "spec.template",
    "references": [{"source": "secret", "path": "spec.logins[*].secretName"}],
    "health": {"replicas": "spec.size"},
}
MACHINE = tables([ROW], None)[0].kinds[-1]


async def declared(work: Any) -> Any:
    """The result, or the `ApiError`; anything else fails the test."""
    try:
        return await work
    except ApiError as error:
        return error


def stub(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": documents.HOME, "resourceVersion": "1"}}


PENDING = Key("ControllerRevision", documents.HOME, "web-reroll-job")
IN_SHOP = f"namespaces/{documents.HOME}"


@fuzz
@given(bodies(documents.pending_jobs), bodies(documents.jobs), st.booleans())
def test_a_job_that_is_written_down(written: bytes, job: bytes, there: bool) -> None:
    async def replace() -> None:
        bench = Bench()
        answers = bench.answers
        answers.by_path[f"/apis/apps/v1/{IN_SHOP}/controllerrevisions/{PENDING.name}"] = written
        answers.by_path["/apis/apps/v1/controllerrevisions"] = b'{"items":[%s]}' % written
        if there:
            answers.everything = job
        jobs = Jobs(answers.client, bench.clock, bench.world)
        finding = asyncio.create_task(jobs._find(None))
        for _ in range(5):
            await asyncio.sleep(0)
        finding.cancel()  # It asks for ever where the answer is no list.
        with suppress(asyncio.CancelledError):
            await finding
        outcome = await declared(jobs._reconcile(PENDING))
        jobs._failed(PENDING, outcome) if isinstance(outcome, ApiError) else None
        await declared(pending_jobs.find(answers.client, None))

    run(replace())


@fuzz
@given(bodies(documents.key_secrets), bodies(documents.secrets))
def test_the_digest_keys(keys: bytes, secret: bytes) -> None:
    async def load() -> None:
        bench = Bench()
        bench.answers.everything = keys
        found = await declared(keyring.load(bench.answers.client, "reroll", "keys"))
        if not isinstance(found, ApiError):
            bench.world.rekey(*found)
        bench.answers.everything = secret
        bench.listed()
        await bench.look()
        bench.answers.everything = None
        await bench.rolls_good()

    run(load())


@fuzz
@given(bodies(documents.openapi), bodies(documents.discovery_lists))
def test_what_the_server_says_it_serves(document: bytes, served: bytes) -> None:
    async def ask() -> None:
        answers = Answers()
        answers.everything = served
        answers.by_path["/openapi/v3/apis/example.com/v1"] = document
        checks = row_checks.RowChecks(answers.client, StillClock(), {MACHINE.name: MACHINE})
        await checks._check(MACHINE.name)
        await declared(row_checks.problems_of(answers.client, MACHINE))
        await declared(discovery.versions(answers.client, "example.com"))
        await declared(discovery.find(answers.client, "example.com/v1", "Machine"))

    run(ask())


@fuzz
@given(bodies(documents.openapi))
def test_an_openapi_document(document: bytes) -> None:
    with suppress(ApiError):
        schemas.problems(MACHINE, row_checks.decoded(document, schemas.Document))


@fuzz
@given(st.lists(bodies(documents.leases), min_size=1, max_size=3))
def test_the_lease(leases: list[bytes]) -> None:
    async def contend() -> None:
        answers, clock = Answers(), StillClock()
        leadership = Leadership(answers.client, clock, "reroll", "reroll", "me")
        for lease in leases:
            answers.everything = lease
            await declared(leadership._contend())
            await declared(leadership._act_on_news())
            assert leadership._pause() <= 20
            leadership._stop()
            clock.move(20)
        good = {"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": ""}}
        answers.everything = encode(good)
        clock.move(2**32)
        await leadership._contend()
        assert leadership.is_leader

    run(contend())


TARGET: dict[str, Any] = {
    "metadata": {
        "name": "t",
        "namespace": documents.HOME,
        "uid": "u",
        "resourceVersion": "7",
        "generation": 1,
        "annotations": {"reroll.dev/allow-from": "*"},
        "managedFields": [
            {
                "manager": "reroll-injection/shop/web",
                "operation": "Apply",
                "fieldsV1": {"f:spec": {"f:a": {}, "f:list": {'k:{"n":"x"}': {".": {}}}}},
            }
        ],
    },
    "spec": {"a": "old", "list": [{"n": "x", "x": "old"}]},
    "data": {"key": "b2xk"},
}


def injecting(bench: Bench) -> Injections:
    settings = resolve({"injections": "true"}, {}, {}, "")
    client, clock = bench.answers.client, bench.clock
    context = Context(client, clock, settings, Metrics(), bench.bus, "reroll", "me")
    feature = Injections(context, EnginePort(bench.world), [])
    feature._leads = True
    return feature


@fuzz
@given(
    st.lists(near(documents.injections), min_size=1, max_size=2),
    bodies(documents.discovery_lists),
    bodies(just(TARGET)),
    bodies(documents.secrets),
)
def test_injections(manifests: list[Any], served: bytes, target: bytes, source: bytes) -> None:
    async def inject() -> None:
        bench = Bench()
        feature = injecting(bench)
        ((watch,),) = feature.stages()
        watch._open()
        by_path = bench.answers.by_path
        machine = b'{"resources":[{"name":"targets","kind":"Target","namespaced":true}]}'
        for root, answer in (("example.com/v1", machine), ("a/b/c", served)):
            by_path[f"/apis/{root}"] = answer
        by_path["/api/v1"] = served
        by_path[f"/apis/example.com/v1/{IN_SHOP}/targets/t"] = target
        for each in ("secrets/db", "secrets/app", "configmaps/db", "configmaps/app"):
            by_path[f"/api/v1/{IN_SHOP}/{each}"] = source
        for manifest in manifests:
            bench.line(watch, "ADDED", manifest)
        bench.line(
            watch, "BOOKMARK", {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}
        )
        for injection in tuple(feature._registry):
            outcome = await declared(feature._reconciler.reconcile(injection.key))
            if isinstance(outcome, ApiError):
                feature._reconciler._failed(injection.key, outcome)
        for ready in (True, False):
            feature.count(ready=ready)
        bench.line(watch, "ADDED", GOOD_INJECTION)
        assert feature._registry.get(Key("Injection", "quiet", "good"))

    run(inject())


GOOD_INJECTION = {
    "metadata": {"name": "good", "namespace": "quiet", "uid": "g", "resourceVersion": "9999999"},
    "spec": {
        "from": [{"name": "db", "key": "password"}],
        "to": {"apiVersion": "example.com/v1", "kind": "Target", "name": "t", "path": ".spec.a"},
    },
}


@fuzz
@given(bodies(documents.secrets))
def test_the_certificates_of_the_webhook(body: bytes) -> None:
    with suppress(ApiError):
        secret = row_checks.decoded(body, DataObject)
        held = certificates.read(secret.data or {}, "host")
        certificates.due(held, "host", StillClock().now())


def test_the_client_of_these_tests_answers_what_it_is_given() -> None:
    answers = Answers()
    answers.everything = b"{}"
    assert asyncio.run(answers.client.send(cast("Any", _Request()))) == b"{}"


class _Request:
    method, path = "GET", "/x"
