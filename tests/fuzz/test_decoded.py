"""Decoders of bytes and texts from outside: each returns a value or its one declared error."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz import documents
from tests.fuzz.mutate import bodies, cut
from tests.fuzz.profile import fuzz
from tests.fuzz.seeded import just

from reroll.core.model import injection, record
from reroll.core.model.metadata import Manifest
from reroll.core.observe.analysis_answers import AnalysisRun, AnalysisTemplate
from reroll.core.observe.pod_state import PodState
from reroll.engine.admission_objects import PATH
from reroll.engine.content import MountReport, Source, Stub
from reroll.engine.strategies.pending_jobs import PendingJob
from reroll.features.admission import webhook
from reroll.http.server import Asked
from reroll.kube import errors, kubeconfig
from reroll.kube.decode import Decoder
from reroll.kube.errors import ApiError, ConfigError, Malformed
from reroll.kube.objects import DataObject, Pod, Revision

NOW = datetime(2026, 3, 1, tzinfo=UTC)
MODELS = (
    *(Manifest, Source, Stub, MountReport, PendingJob, Pod, Revision, injection.Manifest),
    *(PodState, AnalysisRun, AnalysisTemplate, DataObject),
)
ANY = (
    (documents.configmaps | documents.secrets)
    | (documents.mount_reports | documents.injections)
    | (documents.pending_jobs | documents.pods)
    | (documents.analysis_runs | documents.analysis_templates)
)
BODIES = bodies(ANY)


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.__qualname__)
def test_objects_of_every_model(model: type[Any]) -> None:
    decoder: Decoder[Any] = Decoder(model)

    @fuzz
    @given(BODIES)
    def every(body: bytes) -> None:
        found = decoder.item(body)
        if not isinstance(found, Malformed):
            assert found.metadata.version >= 0
        decoder.event(b'{"type":"MODIFIED","object":%s}' % body)
        with suppress(Malformed):
            page = decoder.page(b'{"metadata":{},"items":[%s,%s]}' % (body, body))
            assert len(page.items) + len(page.malformed) <= 2 + body.count(b",")

    every()


TEXTS = documents.record_texts.documents


@fuzz
@given(TEXTS | cut(TEXTS.map(str.encode)).map(lambda body: body.decode("latin-1")))
def test_records(text: str) -> None:
    found = record.read(text)
    if isinstance(found, record.Record):
        after = record.successor(found, found.n, at=NOW, why="x")
        assert record.read(record.write(after)) == after


@fuzz
@given(bodies(documents.reviews) | BODIES)
def test_admission_reviews(body: bytes) -> None:
    reply = webhook._answer(Asked("POST", PATH, body))
    assert reply.status in {200, 400, 413}


STATUS = just(
    {
        "kind": "Status",
        "code": 409,
        "reason": "Conflict",
        "message": "no",
        "details": {"retryAfterSeconds": 1, "causes": [{"reason": "a", "message": "b"}]},
    }
)


@fuzz
@given(
    st.integers(300, 599),
    bodies(STATUS),
    st.none() | st.text(max_size=8) | st.sampled_from(["9" * 5000, "1", "٣", "-1", "nan"]),
)
def test_errors_of_the_api_server(code: int, body: bytes, after: str | None) -> None:
    error = errors.from_answer(code, body, method="GET", path="/", retry_after=after)
    assert isinstance(error, ApiError)
    assert 0 <= (error.retry_after or 0) <= 300


CONFIG = just(
    {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
        "clusters": [
            {"name": "k", "cluster": {"server": "https://x:1", "insecure-skip-tls-verify": True}}
        ],
        "users": [
            {
                "name": "u",
                "user": {
                    "token": "t",
                    "exec": {
                        "command": "x",
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "env": [{"name": "A", "value": "b"}],
                        "args": ["a"],
                    },
                },
            }
        ],
    }
)
ALIASES = [b"a: &a [*a]", b"&a {users: *a}", b"\xff\xfe", b"!!python/object:os.x {}", b"- 1", b"?"]


@fuzz
@given(bodies(CONFIG) | st.sampled_from(ALIASES))
def test_kubeconfigs(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "config"
    path.write_bytes(body)
    with suppress(ConfigError):
        kubeconfig.choose([path], None)
