"""Every alert of ours fires when it should and not before, by `promtool test rules`.

Samples come once a minute. `0x5 1x20` is six times 0, from minute 0 to 5, and then 1; `_x6 1x20`
is nothing for these minutes, and then 1.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RULES = ROOT / "charts" / "reroll" / "files" / "alerts.yaml"
ALERTS = [
    rule["alert"]
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]


class Case(NamedTuple):
    series: dict[str, str]
    quiet: int
    """It does not fire yet in this minute."""
    fires: int | None
    """It fires in this one; `None`: never, as far as the samples go."""


def gauge(metric: str, bad: str, labels: str = "") -> dict[str, str]:
    """Good in the first minutes, bad from minute 6 on."""
    return {f"{metric}{{{IDENTITY}{labels}}}": bad}


IDENTITY = 'namespace="reroll",job="reroll",instance="a"'
OTHER = 'namespace="reroll",job="reroll",instance="b"'
UP = {f'reroll_build_info{{{IDENTITY},version="1"}}': "1x120"}
WEEK = 7 * 24
UNITS = {"RerollHeldForLong": "h"}
"""Where minutes would be too many: then samples come once an hour, and `quiet` is an hour, too."""
BUCKET = "reroll_change_to_patch_seconds_bucket"


def buckets(below: str, above: str) -> dict[str, str]:
    series = {"30": below, "60": above, "+Inf": above}
    return {f'{BUCKET}{{{IDENTITY},le="{le}"}}': values for le, values in series.items()}


CASES: dict[str, tuple[Case, ...]] = {
    "RerollAbsent": (Case({}, 9, 10), Case(UP, 60, None)),
    "RerollNoLeader": (
        Case(gauge("reroll_leader", "1x5 0x20"), 7, 8),
        Case(gauge("reroll_leader", "1x5 0x0 1x20"), 20, None),
        Case(gauge("reroll_leader", "0x30") | {f"reroll_leader{{{OTHER}}}": "1x30"}, 20, None),
    ),
    "RerollTwoLeaders": (
        Case(gauge("reroll_leader", "1x30") | {f"reroll_leader{{{OTHER}}}": "0x5 1x20"}, 7, 8),
        Case(gauge("reroll_leader", "1x30"), 20, None),
    ),
    "RerollWatchSilent": (
        Case(gauge("reroll_watch_age_seconds", "10x5 301x20", ',resource="secrets"'), 10, 11),
        Case(gauge("reroll_watch_age_seconds", "300x30", ',resource="secrets"'), 20, None),
    ),
    "RerollWatchForbidden": (
        Case(gauge("reroll_watch_state", "0x5 1x20", ',resource="s",state="forbidden"'), 10, 11),
        Case(gauge("reroll_watch_state", "1x30", ',resource="s",state="watching"'), 20, None),
    ),
    "RerollFeatureOff": (
        Case(gauge("reroll_feature_up", "1x5 0x20", ',feature="evict"'), 15, 16),
        Case(gauge("reroll_feature_up", "1x30", ',feature="evict"'), 20, None),
    ),
    "RerollBehind": (
        Case(gauge("reroll_queue_age_seconds", "0x5 61x20"), 10, 11),
        Case(gauge("reroll_queue_age_seconds", "60x30"), 20, None),
    ),
    "RerollSlow": (
        Case(buckets("0x60", "0+1x60"), 15, 16),
        Case(buckets("0+1x60", "0+1x60"), 45, None),
    ),
    "RerollWritesFail": (
        Case(
            gauge("reroll_decisions_total", "0x5 1+1x60", ',result="failed",reason="Failed"'),
            35, 36,
        ),
        Case(gauge("reroll_decisions_total", "0x5 1x60", ',result="failed",reason="F"'), 60, None),
    ),
    "RerollRolloutsFail": (
        Case(gauge("reroll_unhealthy_workloads", "0x5 1x20", ',reason="Failing"'), 15, 16),
        Case(gauge("reroll_unhealthy_workloads", "0x5 1x20", ',reason="Stuck"'), 15, 16),
        Case(gauge("reroll_unhealthy_workloads", "1x30", ',reason="RolledBack"'), 25, None),
    ),
    "RerollStopped": (
        Case(gauge("reroll_propagations", "0x5 1x20", ',state="stopped"'), 20, 21),
        Case(gauge("reroll_propagations", "1x30", ',state="going on"'), 25, None),
    ),
    "RerollGateUnknown": (
        Case(gauge("reroll_gates", "0x5 1x20", ',gate="g",answer="unknown"'), 20, 21),
        Case(gauge("reroll_gates", "1x30", ',gate="g",answer="closed"'), 25, None),
    ),
    "RerollApprovalOverdue": (
        Case(gauge("reroll_held_workloads", "0x5 1x20", ',reason="ApprovalOverdue"'), 10, 11),
        Case(gauge("reroll_held_workloads", "1x30", ',reason="Unapproved"'), 25, None),
    ),
    "RerollHeldForLong": (
        *(
            Case(gauge("reroll_held_workloads", "0x5 1x180", f',reason="{one}"'), WEEK, WEEK + 6)
            for one in ("WindowClosed", "Frozen", "GateClosed", "Unapproved")
        ),
        Case(gauge("reroll_held_workloads", "1x90 0x0 1x100", ',reason="Frozen"'), 190, None),
        Case(gauge("reroll_held_workloads", "1x190", ',reason="Debouncing"'), 190, None),
    ),
    "RerollRollbackFailed": (
        Case(gauge("reroll_unhealthy_workloads", "0x5 1x20", ',reason="RollbackFailed"'), 6, 7),
    ),
    "RerollFlapping": (
        Case(gauge("reroll_breaker_trips_total", "0x5 1x90"), 5, 6),
        Case(gauge("reroll_breaker_trips_total", "1x120"), 90, None),
    ),
    "RerollBadInput": (
        Case(gauge("reroll_problems_total", "_x6 1x120", ',kind="Deployment"'), 5, 6),
        Case(gauge("reroll_problems_total", "_x6 1x120", ',kind="Deployment"'), 70, None),
        Case(gauge("reroll_problems_total", "1x70 2x60", ',kind="Deployment"'), 70, 71),
    ),
    "RerollApiErrors": (
        Case(
            gauge("reroll_api_calls_total", "0x5 1+1x60", ',code="500"')
            | gauge("reroll_api_calls_total", "0+1x70", ',code="200"'),
            20, 22,
        ),
        Case(
            gauge("reroll_api_calls_total", "0+1x70", ',code="500"')
            | gauge("reroll_api_calls_total", "0+20x70", ',code="200"'),
            60, None,
        ),
    ),
    "RerollEventsLost": (Case(gauge("reroll_events_dropped_total", "0x5 1x90"), 5, 6),),
    "RerollNoticesNotSent": (
        Case(gauge("reroll_notices_total", "0x5 1x90", ',notice="n",result="dropped"'), 5, 6),
        Case(gauge("reroll_notices_total", "0x5 1+1x90", ',notice="n",result="failed"'), 7, 10),
        Case(gauge("reroll_notices_total", "0x5 1 2 3x90", ',notice="n",result="failed"'), 9, None),
        Case(gauge("reroll_notices_total", "0+9x90", ',notice="n",result="sent"'), 60, None),
    ),
    "RerollBug": (Case(gauge("reroll_bugs_total", "0x5 1x90", ',part="work"'), 5, 6),),
    "RerollVersionsDiffer": (
        Case(UP | {f'reroll_build_info{{{OTHER},version="2"}}': "_x6 1x100"}, 65, 66),
        Case(UP | {f'reroll_build_info{{{OTHER},version="1"}}': "1x100"}, 90, None),
    ),
    "RerollRestarting": (
        Case(UP | gauge("process_start_time_seconds", "1 2 3 4 5x60"), 3, 4),
        Case(UP | gauge("process_start_time_seconds", "1 2 3 4x60"), 30, None),
        Case(gauge("process_start_time_seconds", "1 2 3 4 5 6 7 8x60"), 30, None),
    ),
    "RerollInjectionNotReady": (
        Case(gauge("reroll_injections", "0x5 1x20", ',ready="false"'), 20, 21),
        Case(gauge("reroll_injections", "1x30", ',ready="true"'), 25, None),
    ),
}  # fmt: skip


@pytest.mark.prometheus
def test_every_alert_has_a_case() -> None:
    assert sorted(CASES) == sorted(ALERTS)


def expected(alert: str, case: Case) -> dict[str, Any]:
    unit = UNITS.get(alert, "m")
    firing = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
    looks = [(case.quiet, 0), *([(case.fires, 1)] if case.fires is not None else [])]
    return {
        "interval": f"1{unit}",
        "input_series": [{"series": name, "values": told} for name, told in case.series.items()],
        "promql_expr_test": [
            {
                "expr": firing,
                "eval_time": f"{moment}{unit}",
                "exp_samples": [{"labels": "{}", "value": value}],
            }
            for moment, value in looks
        ],
    }


@pytest.mark.parametrize("alert", sorted(CASES))
def test_it_fires_when_it_should_and_not_before(
    alert: str, prometheus_programs: Mapping[str, Path], tmp_path: Path
) -> None:
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": f"1{UNITS.get(alert, 'm')}",
        "tests": [expected(alert, case) for case in CASES[alert]],
    }
    file = tmp_path / "tests.yaml"
    file.write_text(json.dumps(document))
    command = [str(prometheus_programs["promtool"]), "test", "rules", str(file)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_rules_are_ones_that_prometheus_takes(
    prometheus_programs: Mapping[str, Path],
) -> None:
    command = [str(prometheus_programs["promtool"]), "check", "rules", str(RULES)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert finished.returncode == 0, finished.stdout + finished.stderr
