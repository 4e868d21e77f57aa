"""The pages of docs/reference that come from the tables of settings, annotations, kinds and so on.

`python -m tests.support.table_reference` rewrites them; tests/test_reference.py compares.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.support.known_metrics import known_metrics

from reroll.core.dialects.own import REROLL
from reroll.core.dialects.policy_rows import SOURCE_KEYS, WORKLOAD_KEYS, LimitsRow, MatchRow
from reroll.core.dialects.rows import Options
from reroll.core.dialects.words import Place
from reroll.core.policy.gate_rows import GateRow, ServerRow
from reroll.core.policy.window_rows import WindowFields
from reroll.core.revisions.content_names import CONTENT_OF
from reroll.core.tables.custom_rows import ROWS, helped
from reroll.core.tables.fields import FIELDS, POD_FIELDS, PODS, Field
from reroll.core.tables.kinds import EACH, KINDS
from reroll.core.tables.limits import LIMITS
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import DEFAULT, GRANTED, Feature, Right, rights
from reroll.core.tables.rights import Place as RightPlace
from reroll.core.tables.source_kinds import SOURCE_KINDS
from reroll.manifests.options import ANNOTATION
from reroll.settings.table import SETTINGS

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
GRAFANA = FOLDER.parents[1] / "deploy" / "grafana"
UPDATE = "python -m tests.support.table_reference"
MARK = f"<!-- Generated from the tables: do not edit. `{UPDATE}` rewrites it. -->"


def _page(title: str, introduction: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", MARK, introduction, *parts]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """A bar would end the cell; one with a backslash before it is shown with that, in code."""
    text = re.sub(
        r"`([^`]*\|[^`]*)`", lambda m: f"<code>{html.escape(m[1], quote=False)}</code>", text
    )
    return text.replace("|", "&#124;")


def settings() -> str:
    parts = []
    for group, found in groupby(SETTINGS, lambda row: row.about.group):
        rows = [
            (f"`{row.flag}`", row.about.help, f"`{row.shown_default}`" if row.shown_default else "")
            for row in found
        ]
        parts += [f"## {group}", _table(("flag", "meaning", "default"), rows)]
    example = "```yaml\n# reroll run --config reroll.yaml\ndebounce: 5s\nexclude-namespaces: [kube-system]\n```"
    introduction = (
        "Every setting of `reroll run` is a flag, an environment variable and a key of the config file; in this order the first one counts.\n"
        "`--log-level debug` is `REROLL_LOG_LEVEL=debug` in the environment and `log-level: debug` in the file.\n"
        "A setting that cannot be used is named, with what to write instead; all of them at once.\n"
        "Seven more keys of the file are rows: `kinds` and `sources` add [kinds that Reroll does not know](../guides/custom-kinds.md), "
        "[`policies`](#policies) and [`limits`](#limits) are about how a change propagates, [`windows`](#windows) and [`gates`](#gates) about when it may, and [`notices`](notices.md) about who gets messages."
    )
    return _page("Settings", introduction, example, *parts, *_policies(), *_windows(), *_gates())


def _policies() -> tuple[str, ...]:
    """The rows `policies:` and `limits:`."""
    example = (
        "```yaml\npolicies:\n  - match: {namespaces: [shop-*], workloads: {tier: front}}\n    wave: 1\n    soak: 2m\n"
        "  - match: {sources: [secret/ca-*]}\n    max-parallel: doubling\nlimits: {cluster: 20, namespace: 5}\n```"
    )
    keys = ", ".join(f"`{key}`" for key in WORKLOAD_KEYS)
    of_sources = ", ".join(f"`{key}`" for key in SOURCE_KEYS)
    rows = (
        "Defaults for workloads and sources that nobody can annotate. "
        "A row has the keys of [annotations](annotations.md), without `reroll.dev/`, and `match`.\n"
        "A row without `sources` is for workloads. What it says counts before the settings, and after the annotations of a workload and of its Namespace.\n"
        "A row with `sources` is for these sources, and counts after their own annotations.\n"
        "Where several rows match, a later one counts before an earlier one, key by key.\n\n"
        f"Keys for workloads: {keys}.\n\nKeys for sources: {of_sources}."
    )
    parts = [
        _table(("field", "meaning"), [(f"`{field}`", told) for field, told, _ in helped(row)])
        for row in (MatchRow, LimitsRow)
    ]
    return "## Policies", rows, example, "### `match`", parts[0], "## Limits", parts[1]


def _windows() -> tuple[str, ...]:
    """The rows `windows:`."""
    example = (
        '```yaml\nwindows:\n  - {name: nights, allow: "daily 02:00+3h Europe/Oslo", last-start: 30m}\n'
        '  - {name: black-week, deny: "2026-11-23 to 2026-12-01 Europe/Oslo", namespaces: ["shop-*"]}\n```'
    )
    rows = "[When rolls may begin](../guides/windows.md). A row has a name, and one of `allow` and `deny`."
    fields = [(f"`{field}`", told) for field, told, _ in helped(WindowFields)]
    return "## Windows", rows, example, _table(("field", "meaning"), fields)


def _gates() -> tuple[str, ...]:
    """The rows `gates:`."""
    example = (
        "```yaml\ngates:\n  - name: errors\n    prometheus: {url: http://prometheus.monitoring:9090}\n"
        '    query: sum(rate(http_requests_total{code=~"5..",namespace="$namespace"}[2m]))\n    max: 0.5\n```'
    )
    told = (
        "Workloads name them in `reroll.dev/gates`; see [gates](../guides/gates.md).\n"
        "In `alerts` and `query`, `$namespace`, `$workload` and `$kind` are those of the workload.\n"
        "`prometheus`, `alertmanager` and `webhook` have the fields `url`, `token-file` and `ca-file`."
    )
    parts = [
        _table(("field", "meaning"), [(f"`{field}`", text) for field, text, _ in helped(row)])
        for row in (GateRow, ServerRow)
    ]
    return "## Gates", told, example, parts[0], "### Where it is asked", parts[1]


def annotations() -> str:
    example = (
        '```yaml\nmetadata:\n  annotations:\n    reroll.dev/enabled: "true"\n'
        "    reroll.dev/sources: configmap/shared, secret/db#password\n    reroll.dev/ignore: configmap/feature-flags\n```"
    )
    introduction = (
        "On a workload; the same key on its Namespace is the default for all workloads in it.\n"
        "A value that cannot be used is never silent: it is an Event on the workload, a log line and a metric, and the rest of the policy still applies."
    )
    words = REROLL.words(Options())
    rows = [(f"`{w.key}`", w.help, f"`{w.example}`") for w in words if Place.WORKLOAD in w.places]
    on_source = [
        (f"`{w.key}`", w.help, f"`{w.example}`") for w in words if Place.SOURCE in w.places
    ]
    on_target = [
        (f"`{w.key}`", w.help, f"`{w.example}`") for w in words if Place.TARGET in w.places
    ]
    consent = (
        "Each consent has one meaning, and none follows from another: to be named by workloads, to be read into an Injection, "
        "and to be written to by one are three annotations."
    )
    where = {Place.RECORD: "on the workload", Place.MARK: "on the pod template"}
    written = [
        *(
            (f"`{word.key}`", f"{where[place]}: {word.help}")
            for word in words
            for place in word.places
            if place in where
        ),
        (f"`{ANNOTATION}`", "on the pod template: the checksum of `reroll render`"),
        (f"`{CONTENT_OF}`", "on a source with a content name, as a label: its plain name"),
    ]
    others = (
        "Those of [Reloader](reloader.md#every-annotation) and [Wave](wave.md#every-annotation) count too where that is asked for, "
        "see [whose annotations count](../concepts/decisions.md#whose-annotations-count)."
    )
    head = ("key", "meaning", "example")
    return _page(
        "Annotations",
        introduction,
        example,
        "## On a workload or Namespace",
        _table(head, rows),
        "## On a source",
        _table(head, on_source),
        "## On the target of an Injection",
        _table(head, on_target),
        consent,
        "## Written by Reroll",
        _table(("key", "meaning"), written),
        "## Of other tools",
        others,
    )


def kinds() -> str:
    introduction = "What can roll and what can make it roll. A kind whose API is not served is picked up when it appears."
    workloads = [
        (kind.name, f"`{kind.group}/{kind.version}`", ", ".join(f"`{s}`" for s in kind.strategies))
        for kind in KINDS
    ]
    sources = [
        (
            row.name,
            ", ".join(f"`{alias}`" for alias in row.aliases),
            "HMAC" if row.keyed else "SHA-256",
        )
        for row in SOURCE_KINDS
    ]
    return _page(
        "Kinds",
        introduction,
        "## Workloads\n\nThe first strategy is the default.",
        _table(("kind", "API", "strategies"), workloads),
        "## Sources",
        _table(("kind", "in annotations", "digest"), sources),
        "## Rows of a config file\n\nA config file adds kinds: see [custom kinds](../guides/custom-kinds.md).",
        *(part for name, row in ROWS for part in _row(name, row)),
    )


def _row(name: str, row: type[Any]) -> tuple[str, str]:
    """The fields that a part of a row may have."""
    above = "" if name in {"kinds", "sources"} else " of a row of `kinds`"
    rows = [(f"`{field}`", told, "yes" if needed else "") for field, told, needed in helped(row)]
    return f"### `{name}`{above}", _table(("field", "meaning", "required"), rows)


def fields() -> str:
    introduction = (
        "Where the name of a ConfigMap or Secret may stand: what follows when `reroll render --names` gives it another.\n"
        "`[]` is each item of a list."
    )
    pods = [(*_field(field), "yes" if field.pinned else "") for field in POD_FIELDS]
    places = [
        *((kind.name, f"`{'.'.join((*kind.template, 'spec'))}`") for kind in KINDS),
        *((kind, f"`{'.'.join(path)}`") for _, kind, path in PODS),
    ]
    others = [(kind, *_field(field)) for (_, kind), found in FIELDS.items() for field in found]
    return _page(
        "Fields that hold names",
        introduction,
        "## In a pod",
        _table(("names a", "field", "rewritten by a [pin](../guides/revisions.md)"), pods),
        "Pods stand here:",
        _table(("kind", "path"), places),
        "## In other kinds",
        _table(("kind", "names a", "field"), others),
        "An Ingress may name the namespace too, as `namespace/name`.\n"
        "A rule of a Role counts where it is about `configmaps` or `secrets`.\n"
        "A kind that is not here follows by [a config file](../concepts/manifests.md#kinds-of-your-own).",
    )


def _field(field: Field) -> tuple[str, str]:
    path = "".join("[]" if step == EACH else f".{step}" for step in field.path).removeprefix(".")
    return field.source, f"`{path}`"


def reasons() -> str:
    introduction = "Every decision has a reason. The same word stands in the log line, the Event and the metric label `reason`."
    return _page(
        "Reasons",
        introduction,
        _table(("reason", "meaning"), [(f"`{r.word}`", r.sentence) for r in Reason]),
    )


def limits_page() -> str:
    introduction = (
        "Whatever one object holds, it costs a bounded amount of work and memory. These numbers are far above what people write, and cannot be set.\n"
        "What is beyond one is said with its [reason](reasons.md), in an Event, a log line and `reroll explain`, or nothing is lost by it."
    )
    rows = [
        (f"{row.number:,}", row.what, row.beyond, f"`{row.reason}`" if row.reason else "")
        for row in LIMITS
    ]
    return _page("Limits", introduction, _table(("at most", "of what", "beyond", "reason"), rows))


def metrics() -> str:
    introduction = "Served at `/metrics` of `--listen`, in the format of Prometheus."
    rows = [
        (f"`{name}`", found.type, ", ".join(f"`{label}`" for label in found.labels), found.text)
        for name, found in known_metrics().items()
    ]
    return _page(
        "Metrics",
        introduction,
        _table(("metric", "type", "labels", "meaning"), rows),
        "## The dashboard for Grafana",
        "`deploy/grafana/reroll.json` has these panels, for a namespace and a job that you choose above them.",
        _table(("panel", "form", "shows", "from"), map(_panel, _panels())),
    )


def _panels() -> list[dict[str, Any]]:
    dashboard = json.loads((GRAFANA / "reroll.json").read_text(encoding="utf-8"))
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def _panel(panel: dict[str, Any]) -> tuple[str, ...]:
    queries = " ".join(target["expr"] for target in panel["targets"])
    names = dict.fromkeys(re.findall(r"\b(?:reroll|process)_\w+", queries))
    form = "number" if panel["type"] == "stat" else "graph"
    helps = [found.text for name, found in known_metrics().items() if name in names]
    said = panel["description"].removesuffix(".") or "; ".join(helps) or "Of each replica"
    return panel["title"], form, said, ", ".join(f"`{name}`" for name in names)


WHERE = {
    RightPlace.CLUSTER: "the cluster, for what is in no namespace",
    RightPlace.WATCHED: "wherever it looks",
    RightPlace.OWN: "its own namespace",
}


def rights_page() -> str:
    introduction = (
        "What the controller may do in the cluster, for each feature: the roles of the [chart](../guides/install-chart.md#features-and-rights) grant it, and `reroll doctor` asks for it right by right.\n"
        "*Wherever it looks* is the whole cluster, or the namespaces that `--namespaces` names; then nothing is asked for in the cluster.\n"
        "What stands in braces is a setting."
    )
    parts = []
    for feature in Feature:
        found: dict[tuple[str, ...], set[str]] = {}
        for row in rights(KINDS):
            if row.feature is feature:
                found.setdefault(_right(row), set()).update(row.verbs)
        where = " in the chart" if feature in DEFAULT else ""
        usual = "" if feature in GRANTED else f"\n\nOff{where} unless it is asked for."
        order = ("get", "list", "watch", "create", "patch", "delete")
        rows = [
            (what, ", ".join(verb for verb in order if verb in verbs), where)
            for (what, where), verbs in found.items()
        ]
        parts += [f"## {feature.value}{usual}", _table(("resource", "verbs", "where"), rows)]
    return _page("Rights", introduction, *parts)


def _right(row: Right) -> tuple[str, str]:
    what = f"`{row.resource}.{row.group}`" if row.group else f"`{row.resource}`"
    return f"{what}, the one named `{row.name}`" if row.name else what, WHERE[row.place]


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings,
    "annotations.md": annotations,
    "kinds.md": kinds,
    "fields.md": fields,
    "reasons.md": reasons,
    "limits.md": limits_page,
    "metrics.md": metrics,
    "rights.md": rights_page,
}


def main() -> None:
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
