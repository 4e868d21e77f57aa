"""What a verdict is made of: pods, runs of analyses, answers of monitors. None of it raises."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz import documents
from tests.fuzz.mutate import bodies
from tests.fuzz.profile import fuzz

from reroll.core.model.gates import Analysis, Answer, Phase, Query, Server
from reroll.core.model.key import Key
from reroll.core.observe.analysis_answers import AnalysisRun, AnalysisTemplate, of_late_run, of_run
from reroll.core.observe.diagnosis import diagnose
from reroll.core.observe.gate_answers import of_alerts, of_query
from reroll.core.observe.pod_state import PodState
from reroll.engine.gates import GateId
from reroll.engine.ports import Roll
from reroll.features.gates.analysis_run import TemplateName, Waiting, referred, run_of
from reroll.kube.decode import Decoder
from reroll.kube.errors import Malformed
from reroll.kube.objects import Pod

SINCE, NOW = (datetime(year, 2, 1, tzinfo=UTC) for year in (1970, 2026))
SERVER = Server("http://prometheus")
WEB = Key("Deployment", documents.HOME, "web")
WAITING = Waiting(
    GateId("gate", documents.HOME, WEB, Phase.WAITING), WEB, Roll("apps/v1", "Deployment", "u", 7)
)


def decoded(model: type[Any], found: list[bytes]) -> list[Any]:
    decoder: Decoder[Any] = Decoder(model)
    every = [decoder.item(body) for body in found]
    return [one for one in every if not isinstance(one, Malformed)]


@fuzz
@given(st.lists(bodies(documents.pods), max_size=3))
def test_pods(found: list[bytes]) -> None:
    states = decoded(PodState, found)
    assert diagnose(states, "", since=SINCE, now=NOW).why is not None
    for pod in decoded(Pod, found):
        assert isinstance((pod.trouble, pod.crashes, pod.is_older_than(NOW)), tuple)


@fuzz
@given(st.lists(bodies(documents.analysis_templates), min_size=1, max_size=3))
def test_templates_of_analyses(found: list[bytes]) -> None:
    templates = decoded(AnalysisTemplate, found)
    names = {TemplateName(str(n), bool(n % 2)): one for n, one in enumerate(templates)}
    for template in templates:
        assert all(name.name is not None for name in referred(template))
    if names:
        with suppress(ValueError):
            assert run_of(Analysis("0"), names, WAITING)["spec"]


@fuzz
@given(bodies(documents.analysis_runs))
def test_runs_of_analyses(found: bytes) -> None:
    for run in decoded(AnalysisRun, [found]):
        assert of_run(run).why
        assert of_late_run(run, 5).why
        ended = run.status.completed_at
        assert ended is None or NOW - ended


@fuzz
@given(
    st.sampled_from([200, 404, 500]),
    bodies(documents.prometheus_answers) | bodies(documents.alerts),
)
def test_answers_of_monitors(status: int, body: bytes) -> None:
    for question in (Query(SERVER, "q", least=1.0), Query(SERVER, "q", most=1.0)):
        assert isinstance(of_query(question, status, body).answer, Answer)
    for is_alertmanager in (True, False):
        measured = of_alerts(status, body, is_alertmanager=is_alertmanager)
        assert isinstance(measured.answer, Answer)


@pytest.mark.parametrize("inner", [b"1", b'{"value":[1,"1"]}'])
def test_an_answer_that_is_nested_without_end(inner: bytes) -> None:
    deep = b"[" * 100_000 + inner + b"]" * 100_000
    body = b'{"status":"success","data":{"resultType":"vector","result":%s}}' % deep
    assert of_query(Query(SERVER, "q", least=1.0), 200, body).answer is Answer.UNKNOWN
    assert of_alerts(200, deep, is_alertmanager=True).answer is Answer.UNKNOWN
