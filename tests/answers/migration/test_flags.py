"""Command lines of Reloader and Wave as our settings: every flag is a row, and says what it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.answers.migration.known import RELOADER_FLAGS, RELOADER_VARIABLES, WAVE_FLAGS

from reroll.answers.migration.rows import Fate
from reroll.answers.migration.translate import TOOLS, Wrong, of_command, tool_named
from reroll.settings.resolve import resolve
from reroll.settings.table import SETTINGS

RELOADER = tool_named("reloader")
WAVE = tool_named("wave")


def settings_of(*words: str, tool: str | None = None) -> dict[str, Any]:
    """Beside the dialect, which is always among them."""
    found = of_command(words, tool_named(tool) if tool else None)
    assert found.settings["dialects"] == ["reroll", found.tool.name]
    return {key: value for key, value in found.settings.items() if key != "dialects"}


def migrate(*argv: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "reroll", "migrate", *argv],
        input=given,
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        *(("reloader", f"--{name}") for name in RELOADER_FLAGS),
        *(("reloader", name) for name in RELOADER_VARIABLES),
        *(("wave", f"--{name}") for name in WAVE_FLAGS),
    ],
)
def test_every_flag_and_variable_has_a_row(tool: str, name: str) -> None:
    assert tool_named(tool).row(name) is not None


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_row_leads_to_a_setting_or_says_why_not(tool: Any) -> None:
    known = {row.key for row in SETTINGS} | {"notices"}

    for row in (*tool.flags, *tool.variables):
        if row.fate is Fate.SETTING:
            assert row.setting in known, row.name
        else:
            assert row.word, row.name


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--auto-reload-all"], {"auto-all": True}),
        (["--auto-reload-all=false"], {}),
        (["--log-level", "trace"], {"log-level": "debug"}),
        (["--log-format=json"], {"log-format": "json"}),
        (["--resources-to-ignore=configMaps"], {"exclude-sources": ["ConfigMap"]}),
        (["--ignored-workload-types=jobs,cronjobs"], {"exclude-kinds": ["Job", "CronJob"]}),
        (["--namespaces=a,b", "--namespaces", "c"], {"namespaces": ["a", "b", "c"]}),
        (["--namespaces-to-ignore", "kube-system"], {"exclude-namespaces": ["kube-system"]}),
        (["--namespace-selector=team:shop,stage:*"], {"namespace-selector": "team=shop,stage"}),
        (["--resource-label-selector", "a=b"], {"source-selector": "a=b"}),
        (["--resource-label-selector", "a=*"], {"source-selector": "a"}),
        (["--is-Argo-Rollouts=true"], {}),
        (["--reload-strategy=annotations"], {"reloader-strategy": "annotations"}),
        (["--reload-on-create=true"], {"reload-on-create": True}),
        (["--auto-annotation=reloader.stakater.com/auto"], {}),
        (
            ["--auto-annotation=me.io/auto", "--search-match-annotation", "me.io/match"],
            {
                "annotation-names": [
                    "reloader.stakater.com/auto=me.io/auto",
                    "reloader.stakater.com/match=me.io/match",
                ]
            },
        ),
        (["--reload-on-create=True"], {}),
        (["--enable-ha", "--sync-after-restart"], {}),
        (
            ["KUBERNETES_NAMESPACE=shop", "--auto-reload-all"],
            {"namespaces": ["shop"], "auto-all": True},
        ),
        (["KUBERNETES_NAMESPACE=shop", "--namespaces=a"], {"namespaces": ["a"]}),
        (["--namespaces=a", "--namespace-selector=b=c"], {"namespaces": ["a"]}),
        (["/manager", "--log-level=info", "--log-level=error"], {"log-level": "error"}),
    ],
)
def test_a_command_line_of_reloader_becomes_settings(
    words: list[str], expected: dict[str, Any]
) -> None:
    assert settings_of(*words, tool="reloader") == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--leader-election"], {"leader-election": True}),
        (["-leader-election=false"], {"leader-election": False}),
        (
            ["--leader-election-id=wave", "--leader-election-namespace=ops"],
            {"namespace": "ops", "lease": "wave"},
        ),
        (["--update-rate=0.5", "--update-burst", "10"], {"rate": 0.5, "burst": 10}),
        (["--update-rate=0"], {}),
        (["--sync-period=5m", "--enable-webhooks"], {}),
        (
            ["--zap-encoder=console", "--zap-log-level=3"],
            {"log-format": "text", "log-level": "debug"},
        ),
        (["--namespaces=a,b"], {"namespaces": ["a", "b"]}),
    ],
)
def test_a_command_line_of_wave_becomes_settings(
    words: list[str], expected: dict[str, Any]
) -> None:
    assert settings_of(*words, tool="wave") == expected


def test_flags_that_only_one_tool_has_tell_whose_they_are() -> None:
    assert of_command(["--auto-reload-all", "--namespaces=a"]).tool is RELOADER
    assert of_command(["--update-burst=3", "--namespaces=a"]).tool is WAVE


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--namespaces=a"], "add --from reloader or --from wave"),
        (["--auto-reload-al"], "do not show which tool"),
        (["--auto-reload-all", "--log-levl=info"], "did you mean --log-level?"),
        (["--auto-reload-all", "--log-level"], "--log-level: a value has to follow"),
        (["--auto-reload-all=perhaps"], 'neither "true" nor "false"'),
        (["--auto-reload-all", "--log-level=loud"], "'loud' is not one of"),
        (["--reload-strategy=magic"], "is not one of annotations, default, env-vars"),
        (["--update-rate=fast"], "'fast' is not a number"),
        (["--auto-reload-all", "NO_SUCH=1"], "NO_SUCH: Reloader reads no such"),
        (["--namespace-selector==="], "is not a label selector"),
    ],
)
def test_what_the_tool_itself_would_refuse_is_told(words: list[str], told: str) -> None:
    with pytest.raises(Wrong, match=told.replace("?", r"\?")):
        of_command(words)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Wrong) as caught:
        of_command(["--auto-reload-all=perhaps", "--log-level=loud", "--nope"], RELOADER)

    assert len(caught.value.problems) == 3


names = st.sampled_from([row.name for tool in TOOLS for row in (*tool.flags, *tool.variables)])
texts = st.text(max_size=12)
words = st.builds("{}={}".format, names, texts) | names | texts


@given(st.lists(words, max_size=6), st.sampled_from(TOOLS))
def test_whatever_stands_on_a_command_line_is_translated_or_told(
    given_words: list[str], tool: Any
) -> None:
    try:
        found = of_command(given_words, tool)
    except Wrong:
        return

    flags = dict(flag.removeprefix("--").split("=", 1) for flag in found.flags)
    given_as_flags = {key.replace("-", "_"): value for key, value in flags.items()}
    from_file = resolve({}, {}, yaml.safe_load(yaml.safe_dump(found.settings)), "")
    # Rows have no flag.
    assert resolve(given_as_flags, {}, {}, "") == msgspec.structs.replace(from_file, notices=())


def test_messages_about_rolls_become_notices_whose_addresses_stay_secret() -> None:
    given = ["ALERT_ON_RELOAD=true", "ALERT_SINK=gchat", "ALERT_ADDITIONAL_INFO=prod"]
    given += ["ALERT_WEBHOOK_URL=https://example.invalid/token", "--webhook-url=https://a/token"]
    found = of_command(given, tool_named("reloader"))

    [chat, hook] = resolve({}, {}, found.settings, "").notices
    assert (chat.name, chat.receiver, chat.cluster) == ("reloader", "googlechat", "prod")
    assert (hook.name, hook.receiver) == ("webhook", "webhook")
    assert found.settings["strategy"] == "notify"
    assert "token" not in str(found.lines) + str(found.settings)


@pytest.mark.parametrize(
    ("given", "receiver"),
    [
        (["ALERT_ON_RELOAD=true"], "webhook"),
        (["ALERT_ON_RELOAD=true", "ALERT_SINK=Slack"], "slack"),
        (["ALERT_ON_RELOAD=true", "ALERT_SINK=teams"], "teams"),
        (["ALERT_SINK=slack"], None),
        (["ALERT_ON_RELOAD=false", "ALERT_SINK=slack"], None),
    ],
)
def test_nobody_is_told_unless_reloader_was_asked_to(given: list[str], receiver: str) -> None:
    settings = of_command(given, tool_named("reloader")).settings
    rows = resolve({}, {}, settings, "").notices
    assert [row.receiver for row in rows] == ([receiver] if receiver else [])


def test_the_printed_file_is_a_config_file_of_ours(tmp_path: Path) -> None:
    done = migrate(
        *("flags", "--", "--auto-reload-all", "--namespaces-to-ignore=kube-system"),
        *("--webhook-url", "https://example.invalid/token", "--enable-ha"),
    )

    assert (done.returncode, done.stderr) == (0, "")
    settings = resolve({}, {}, yaml.safe_load(done.stdout), "")
    assert settings.auto_all
    assert settings.exclude_namespaces == ("kube-system",)
    assert settings.dialects == ("reroll", "reloader")
    assert (
        "reroll run --exclude-namespaces=kube-system --dialects=reroll,reloader --auto-all=true"
        in (done.stdout)
    )
    assert "--webhook-url: becomes notices; Reloader posts there instead of rolling" in done.stdout
    assert "token" not in done.stdout


def test_json_has_the_settings_the_flags_and_a_word_for_each_line() -> None:
    done = migrate("flags", "-o", "json", "--", "--update-rate", "2", "--sync-period=1h")

    found = json.loads(done.stdout)
    assert found["from"] == "wave"
    assert found["settings"] == {"dialects": ["reroll", "wave"], "rate": 2.0}
    assert found["flags"] == ["--dialects=reroll,wave", "--rate=2"]
    assert [line["fate"] for line in found["lines"]] == ["becomes", "not needed"]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["flags"], "give a command line after `--`, or a file with --values"),
        (["flags", "--values", "/no/such/file"], "values file /no/such/file: No such file"),
        (["flags", "--from", "wave", "--", "--what"], "--what: Wave has no such flag"),
    ],
)
def test_a_wrong_call_is_a_sentence_and_an_exit_code(argv: list[str], told: str) -> None:
    done = migrate(*argv)

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
