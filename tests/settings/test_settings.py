"""One table of settings: which place counts, what is told of a wrong one, what `--help` shows."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import environment

from reroll.core.model.pace import Parallel
from reroll.settings.resolve import SettingsError, resolve
from reroll.settings.rows import GROUPS, Setting
from reroll.settings.table import SETTINGS, Settings

each_setting = pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.key)


def resolved(
    flags: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    file: dict[str, Any] | None = None,
) -> Settings:
    return resolve(flags or {}, env or {}, file or {}, "reroll.yaml")


def problems(**places: Any) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        resolved(**places)
    return caught.value.problems


# Where a value comes from


@each_setting
def test_what_nobody_sets_has_its_default(row: Setting) -> None:
    assert getattr(resolved(), row.name) == row.default


@each_setting
def test_the_example_of_its_help_can_be_given_in_each_place(row: Setting) -> None:
    by_flag = resolved(flags={row.name: row.about.example})
    by_variable = resolved(env={row.variable: row.about.example})
    by_file = resolved(file={row.key: row.about.example})

    assert by_flag == by_variable == by_file


@pytest.mark.parametrize(
    ("flag", "variable", "file", "counts"),
    [
        pytest.param("1s", "2s", "3s", 1, id="a flag counts before all others"),
        pytest.param(None, "2s", "3s", 2, id="a variable counts before the file"),
        pytest.param(None, None, "3s", 3, id="the file counts before the default"),
        pytest.param(None, None, None, 1, id="the default is left"),
        pytest.param("1s", "wrong", "wrong", 1, id="what does not count may be wrong"),
    ],
)
def test_the_first_place_counts(
    flag: str | None, variable: str | None, file: str | None, counts: int
) -> None:
    settings = resolved(
        flags={"debounce": flag} if flag else {},
        env={"REROLL_DEBOUNCE": variable} if variable else {},
        file={"debounce": file} if file else {},
    )

    assert settings.debounce == timedelta(seconds=counts)


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("namespaces", ["shop", "billing"], ("shop", "billing")),
        ("namespaces", " shop, billing ,", ("shop", "billing")),
        ("auto-all", True, True),
        ("auto-all", "on", True),
        ("leader-election", False, False),
        ("concurrency", 4, 4),
        ("rate", 0.5, 0.5),
        ("debounce", 0, timedelta()),
        ("exclude-kinds", ["job", "CronJob"], ("job", "CronJob")),
        ("listen", "", ""),
        ("listen", "[::1]:9090", "[::1]:9090"),
        ("lease", None, "reroll"),
        ("max-parallel", 5, Parallel(5)),
        ("deadline", None, None),
    ],
)
def test_a_file_may_write_values_as_yaml_does(key: str, given: Any, value: Any) -> None:
    assert getattr(resolved(file={key: given}), key.replace("-", "_")) == value


# What is wrong is told


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("debounce", "5", 'is not a duration; write e.g. "500ms", "5s" or "1m30s"'),
        ("debounce", "-1s", "is not a duration"),
        ("lease_duration", "500ms", "is too short; give it at least 1s"),
        ("watch_silence", "0", "is too short; give it at least 1s"),
        ("concurrency", "0", "is not a whole number from 1 to 999999"),
        ("concurrency", "1.5", "is not a whole number"),
        ("burst", "many", "is not a whole number"),
        ("rate", "0", "is not a number above 0"),
        ("rate", "nan", "is not a number above 0"),
        ("rate", "fast", "is not a number above 0"),
        ("auto_all", "maybe", 'is neither "true" nor "false"'),
        ("log_level", "loud", "is none of debug, info, warning, error"),
        ("strategy", "recreate", "is none of stamp, env, restart, evict, notify"),
        ("exclude_kinds", "Job,Pod", "names no kind with pod; use Deployment, StatefulSet"),
        ("exclude_sources", "pods", "names no kind of source with pods; use ConfigMap, Secret"),
        ("dialects", "reroll,flux", "names no dialect with flux; use reroll, reloader, wave"),
        ("dialects", ",", "names no dialect; use reroll, reloader, wave"),
        ("annotation_names", "a=b", "renames 'a'; only these have other names: reloader."),
        (
            "annotation_names",
            "reloader.stakater.com/auto=_",
            "renames reloader.stakater.com/auto to '_', which is no name",
        ),
        ("max_parallel", "some", 'is none of "all", "one", "doubling", a number'),
        ("max_rolls", "20", "is not a number of rolls in a time"),
        ("deadline", "0", "is too short; give it at least 1s"),
        ("deadline", "late", "is not a duration"),
        ("on_failure", "stop", "is none of hold, rollback, continue"),
        ("webhook_names", "reroll.svc,a b", "names no host with 'a b'"),
        ("reloader_strategy", "env", "is none of env-vars, annotations"),
        ("workload_selector", "a=b=c", 'is not a label selector; write e.g. "team=shop"'),
        ("source_selector", "in (", "is not a label selector"),
        ("listen", "8080", 'is not an address; write e.g. ":8080"'),
        ("listen", ":80808", "is not an address"),
    ],
)
def test_a_wrong_value_names_itself_its_place_and_the_fix(name: str, given: str, told: str) -> None:
    row = next(row for row in SETTINGS if row.name == name)

    for where, places in (
        (row.flag, {"flags": {name: given}}),
        (f"${row.variable}", {"env": {row.variable: given}}),
        (f"reroll.yaml: {row.key}", {"file": {row.key: given}}),
    ):
        (problem,) = problems(**places)
        assert problem.startswith(f"{where}: {given!r} {told}")


def test_rows_that_are_wrong_are_told_with_all_else() -> None:
    file = {"debounce": "x", "policies": [{"soak": "x"}], "limits": {"cluster": "x"}}

    starts = [problem.partition(" ")[2].partition(" ")[0] for problem in problems(file=file)]

    assert starts == ["policies[0]:", "limits:", "debounce:"]


def test_a_misspelt_key_of_rows_is_told_with_a_suggestion() -> None:
    [problem] = problems(file={"policy": []})

    assert problem == "reroll.yaml: there is no setting 'policy'; did you mean 'policies'?"


def test_other_names_of_annotations_can_be_a_map_in_the_file() -> None:
    name, other = "reloader.stakater.com/auto", "example.com/auto"

    found = resolved(file={"annotation-names": {name: other}})

    assert found == resolved(flags={"annotation_names": f"{name}={other}"})


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("debounc", "reroll.yaml: there is no setting 'debounc'; did you mean 'debounce'?"),
        ("log_level", "reroll.yaml: there is no setting 'log_level'; did you mean 'log-level'?"),
        ("zzz", "reroll.yaml: there is no setting 'zzz'; see `reroll run --help`"),
    ],
)
def test_an_unknown_key_of_the_file_names_itself_and_what_was_meant(key: str, told: str) -> None:
    assert problems(file={key: "x"}) == [told]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"namespaces": "a", "namespace_selector": "b"}, "--namespace-selector needs to see all"),
        ({"debounce": "2m", "debounce_limit": "1m"}, "--debounce (2m) is longer than"),
        ({"debounce": "30s"}, "longer than --debounce-limit (10s); lower one or raise the other"),
    ],
)
def test_values_that_are_wrong_only_together_are_told(flags: dict[str, str], told: str) -> None:
    (problem,) = problems(flags=flags)
    assert told in problem


def test_all_problems_are_told_at_once() -> None:
    found = problems(
        flags={"rate": "no", "workload_selector": "((", "listen": "x"},
        env={"REROLL_BURST": "no"},
        file={"grace": "no", "typo": 1, "namespaces": {"a": "b"}},
    )
    assert len(found) == 7


# As people meet it


def run(*args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reroll", "run", *args]
    return subprocess.run(
        command, env=environment(**env), capture_output=True, text=True, timeout=60, check=False
    )


def test_the_command_tells_all_problems_of_all_places_and_ends_with_2(tmp_path: Path) -> None:
    file = tmp_path / "reroll.yaml"
    file.write_text("grace: soon\nlog-levl: debug\n")

    ended = run("--config", file, "--listen", "here", REROLL_RATE="none")

    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[0] == "reroll: these settings cannot be used:"
    for part in ("--listen: 'here'", "$REROLL_RATE: 'none'", f"{file}: grace", "'log-level'?"):
        assert part in ended.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        ("a: [", "is not YAML: line 1, column 5: expected the node content, but found"),
        ("a: {b: s3cr3t: c}", "is not YAML: line 1, column 14: expected"),
        ("a: s3cr3t 2026-02-31\nb: 2026-02-31", "put text into quotes"),
        ("- a", "it has to be `name: value` lines"),
        ("\0", "is not YAML"),
    ],
)
def test_a_config_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: str | None, told: str
) -> None:
    file = tmp_path / "reroll.yaml"
    if content is not None:
        file.write_text(content)

    ended = run(REROLL_CONFIG=str(file))

    assert ended.returncode == 2
    assert str(file) in ended.stderr
    assert told in ended.stderr
    assert "s3cr3t" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_shows_every_setting_in_its_group_with_its_default() -> None:
    shown = " ".join(run("--help").stdout.split())
    starts = [shown.index(f"{title}:") for title in GROUPS]
    parts = dict(zip(GROUPS, zip(starts, [*starts[1:], len(shown)], strict=True), strict=True))

    assert starts == sorted(starts)
    for row in SETTINGS:
        begin, end = parts[row.about.group]
        assert f"{row.flag} " in shown[begin:end]
        assert row.about.help in shown[begin:end]
        if row.shown_default:
            assert f"(default: {row.shown_default})" in shown[begin:end]
