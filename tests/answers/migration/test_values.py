"""The values of both charts as our settings: every value that a chart has is a row."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.answers.migration.known import RELOADER_VALUES, WAVE_VALUES
from tests.answers.migration.test_flags import migrate
from tests.support import chart

from reroll.answers.migration.rows import Fate
from reroll.answers.migration.translate import TOOLS, Wrong, _value_row, of_values, tool_named
from reroll.settings.resolve import resolve


def nested(path: str, value: Any) -> dict[str, Any]:
    head, _, rest = path.partition(".")
    return {head: nested(rest, value) if rest else value}


@pytest.mark.parametrize(
    ("tool", "path"),
    [*(("reloader", p) for p in RELOADER_VALUES), *(("wave", p) for p in WAVE_VALUES)],
)
def test_every_value_of_the_charts_has_a_row(tool: str, path: str) -> None:
    assert _value_row(tool_named(tool), path) is not None


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_row_names_a_flag_or_says_why_not(tool: Any) -> None:
    for row in tool.values:
        assert tool.row(row.flag) if row.flag else row.word or row.chart, row.path


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("reloader.autoReloadAll", True, {"auto-all": True}),
        ("reloader.ignoreSecrets", True, {"exclude-sources": ["Secret"]}),
        ("reloader.ignoreJobs", True, {"exclude-kinds": ["Job"]}),
        ("reloader.ignoreNamespaces", "a,b", {"exclude-namespaces": ["a", "b"]}),
        ("reloader.namespaces", ["a", "b"], {"namespaces": ["a", "b"]}),
        ("reloader.reloadStrategy", "default", {}),
        ("reloader.reloadStrategy", "annotations", {"reloader-strategy": "annotations"}),
        ("reloader.reloadOnDelete", True, {"reload-on-delete": True}),
        ("reloader.deployment.env.open.KUBERNETES_NAMESPACE", "shop", {"namespaces": ["shop"]}),
        ("reloader.autoReloadAll", False, {}),
        ("updateRate", 2.5, {"rate": 2.5}),
        ("updateBurst", 10, {"burst": 10}),
        ("webhooks.enabled", True, {}),
    ],
)
def test_a_value_becomes_a_setting(path: str, value: Any, expected: dict[str, Any]) -> None:
    found = of_values(nested(path, value))
    assert found.settings == {"dialects": ["reroll", found.tool.name], **expected}


def test_two_values_that_mean_one_setting_come_together() -> None:
    values = {"reloader": {"ignoreJobs": True, "ignoreCronJobs": True, "logLevel": "info"}}

    settings = of_values(values).settings
    assert (settings["exclude-kinds"], settings["log-level"]) == (["Job", "CronJob"], "info")


def test_a_group_of_values_is_told_once_and_empty_ones_not_at_all() -> None:
    values = {
        "reloader": {
            "verticalPodAutoscaler": {"enabled": True, "maxAllowed": {"cpu": "1"}},
            "logLevel": "",
            "namespaceSelector": "",
            "custom_annotations": {},
        }
    }

    assert [line.given for line in of_values(values).lines] == ["reloader.verticalPodAutoscaler"]


def test_a_value_that_the_chart_does_not_have_is_told_and_the_rest_counts() -> None:
    found = of_values({"reloader": {"autoReloadAl": True, "logLevel": "debug"}})

    assert found.settings == {"dialects": ["reroll", "reloader"], "log-level": "debug"}
    told = [line for line in found.lines if line.fate is Fate.MISSING]
    assert [line.given for line in told] == ["reloader.autoReloadAl"]


def test_a_value_that_may_be_a_credential_is_never_shown() -> None:
    values = {"reloader": {"webhookUrl": "https://example.invalid/token", "logLevel": "debug"}}
    values["reloader"]["deployment"] = {"env": {"secret": {"ALERT_WEBHOOK_URL": "token"}}}  # type: ignore[assignment]

    assert "token" not in str(of_values(values))


def test_values_that_could_be_anybodys_need_a_name() -> None:
    with pytest.raises(Wrong, match="add --from reloader or --from wave"):
        of_values({"image": {"tag": "v1"}})


def test_a_values_file_is_read_from_a_file_and_from_a_pipe(tmp_path: Path) -> None:
    text = yaml.safe_dump({"updateRate": 3})
    (tmp_path / "values.yaml").write_text(text, encoding="utf-8")

    from_file = migrate("flags", "--values", str(tmp_path / "values.yaml"))
    from_pipe = migrate("flags", "--values", "-", given=text)

    assert yaml.safe_load(from_file.stdout) == {"dialects": ["reroll", "wave"], "rate": 3.0}
    assert from_pipe.stdout == from_file.stdout


def test_what_helm_prints_above_the_values_does_no_harm() -> None:
    done = migrate("flags", "--values", "-", given="USER-SUPPLIED VALUES:\nupdateRate: 3\n")

    assert yaml.safe_load(done.stdout) == {"dialects": ["reroll", "wave"], "rate": 3.0}


def test_values_about_the_pod_become_values_of_our_chart() -> None:
    reloader = {
        "autoReloadAll": True,
        "deployment": {
            "replicas": 2,
            "nodeSelector": {"disk": "ssd"},
            "securityContext": {"runAsUser": 1000},
            "resources": {"limits": {"memory": "512Mi"}},
        },
        "serviceMonitor": {"enabled": True, "namespace": "monitoring"},
        "rbac": {"enabled": False},
    }
    done = migrate(
        "flags", "--values", "-", "--chart", given=yaml.safe_dump({"reloader": reloader})
    )

    assert yaml.safe_load(done.stdout) == {
        "dialects": {"reloader": True},
        "settings": {"auto-all": True},
        "features": {"trigger": True, "recreate": True},
        "replicas": 2,
        "nodeSelector": {"disk": "ssd"},
        "podSecurityContext": {"runAsUser": 1000},
        "serviceMonitor": {"enabled": True},
        "rbac": {"create": False},
    }
    assert "#   reloader.deployment.resources: Reroll needs less" in done.stdout
    assert "#   reloader.serviceMonitor.namespace: about the objects" in done.stdout


def test_values_that_ask_for_nothing_switch_on_what_reloader_does_unasked() -> None:
    done = migrate("flags", "--values", "-", "--chart", given="reloader: {isArgoRollouts: true}")

    assert yaml.safe_load(done.stdout) == {
        "dialects": {"reloader": True},
        "features": {"trigger": True, "recreate": True},
    }
    left = of_values({"reloader": {"ignoreJobs": True, "ignoreCronJobs": True}})
    assert "features" not in left.chart
    waved = {"dialects": {"wave": True}, "settings": {"burst": 10}}
    assert of_values({"updateBurst": 10}).chart == waved


@pytest.mark.parametrize(
    ("tool", "row"), [(tool, row) for tool in TOOLS for row in tool.values if row.chart]
)
def test_what_is_carried_over_is_a_value_of_our_chart(tool: Any, row: Any) -> None:
    known = {value.path for value in chart.values()}
    place = tuple(row.chart.split("."))

    assert place in known or place[:1] == ("global",)


paths = st.sampled_from([*RELOADER_VALUES, *WAVE_VALUES, "odd", "reloader", "reloader.odd.one"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
anything = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(max_size=5), scalars)


@given(st.lists(st.tuples(paths, anything), max_size=6), st.sampled_from(TOOLS))
def test_whatever_stands_in_a_values_file_is_translated_or_told(
    found: list[tuple[str, Any]], tool: Any
) -> None:
    values: dict[str, Any] = {}
    for path, value in found:
        values = {**values, **nested(path, value)}
    try:
        settings = of_values(values, tool).settings
    except Wrong:
        return

    assert resolve({}, {}, yaml.safe_load(yaml.safe_dump(settings)), "")


@pytest.mark.parametrize("text", ["a: [", "- a list", "\0"])
def test_a_values_file_that_is_none_is_a_sentence(text: str) -> None:
    done = migrate("flags", "--values", "-", given=text)

    assert done.returncode == 2
    assert done.stderr.startswith("reroll: values file -")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("value", "fate", "code"), [("false", Fate.DECIDE, 1), ("true", Fate.UNNEEDED, 0)]
)
def test_what_would_make_it_look_at_more_than_before_is_to_be_decided(
    value: str, fate: Fate, code: int
) -> None:
    """Settings of a Reloader for one namespace must not be taken for those of a whole cluster."""
    text = f"reloader: {{watchGlobally: {value}}}"

    [line] = of_values(yaml.safe_load(text)).lines
    done = migrate("flags", "--values", "-", given=text)

    assert (line.fate, done.returncode) == (fate, code)
    is_told = "decide before you use this: reloader.watchGlobally: " in done.stderr
    assert is_told == (fate is Fate.DECIDE)
    heading = "# You must decide before you use this:\n#   reloader.watchGlobally: "
    assert (heading in done.stdout) == (fate is Fate.DECIDE)
