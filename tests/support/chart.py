"""The files of charts/reroll that come from tables and from its values, and deploy/ from the chart.

`make chart` writes them anew; tests/chart compares. values.yaml is where everything about a value
is said: `# --` for people, `# @schema` for the schema.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.support import dashboard_rights

from reroll import __version__
from reroll.core.dialects import notice_rows
from reroll.core.dialects.policy_rows import SOURCE_KEYS, WORKLOAD_KEYS, LimitsRow
from reroll.core.model.pace import Parallel, Rolls
from reroll.core.policy.gate_rows import GateRow
from reroll.core.policy.receivers import RECEIVERS, URL
from reroll.core.policy.window_rows import WindowFields
from reroll.core.tables import rights
from reroll.core.tables.custom_rows import helped
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.limits import GATES
from reroll.core.tables.source_kinds import SOURCE_KINDS
from reroll.engine import admission_objects, approval_objects
from reroll.settings.parsers import (
    Address,
    DialectNames,
    Hosts,
    KindNames,
    OtherNames,
    SourceKinds,
    Texts,
)
from reroll.settings.rows import Setting
from reroll.settings.table import SETTINGS

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "reroll"
UPDATE = "make chart"
MARK = f"Generated: do not edit. `{UPDATE}` writes it anew."


class Value(NamedTuple):
    """A line of values.yaml, with what stands above it."""

    path: tuple[str, ...]
    default: Any
    text: str
    schema: str


def values() -> list[Value]:
    """Every value of the chart; one that says something for people is a leaf."""
    lines = (CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    content = yaml.safe_load("\n".join(lines))
    return list(_values(lines, content))


def _values(lines: list[str], content: Any) -> Iterator[Value]:
    above: list[str] = []
    path: list[str] = []
    for line in lines:
        key = re.match(r"( *)([\w-]+):", line)
        if line.lstrip().startswith("#"):
            above.append(line.strip())
        elif key:
            path[len(key[1]) // 2 :] = [key[2]]
            said = {m[1]: m[2] for each in above if (m := re.match(r"# (--|@schema) (.*)", each))}
            yield Value(
                tuple(path), _at(content, path), said.get("--", ""), said.get("@schema", "")
            )
            above = []
        else:
            above = []


def _at(content: Any, path: list[str]) -> Any:
    for step in path:
        content = content.get(step) if isinstance(content, dict) else None
    return content


# values.schema.json


def schema() -> str:
    """A value that the chart does not know is an error, and so is one of the wrong type."""
    found = _object()
    for value in values():
        if value.text or not isinstance(value.default, dict):
            _put(found, value)
    found["properties"]["reloader"] = {
        "description": "Values of Reloader's chart; `reroll migrate flags` turns them into these.",
    }
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of Reroll"}
    return json.dumps({**head, **found}, indent=2) + "\n"


def _put(found: dict[str, Any], value: Value) -> None:
    for step in value.path[:-1]:
        found = found["properties"].setdefault(step, _object())
        if found.get("additionalProperties") is not False:
            return  # a part of something that Kubernetes defines
    found["properties"][value.path[-1]] = {"description": value.text, **_schema_of(value)}


def _schema_of(value: Value) -> dict[str, Any]:
    if value.schema == "settings":
        given = {row.key: _setting(row) for row in SETTINGS if row.key not in DECIDED}
        return {**_object(), "properties": {**given, **ROW_SCHEMAS}}
    more = json.loads(value.schema) if value.schema else {}
    return {"type": TYPES[type(value.default)], **more}


def _object() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def _receivers() -> dict[str, Any]:
    """One of them, with the fields that it has."""
    made: dict[str, Any] = {**_object(), "minProperties": 1, "maxProperties": 1}
    for receiver, type_ in RECEIVERS.items():
        fields = {name: {"description": told} for name, told, _ in helped(type_)}
        for name in fields.keys() & {"url", "api"}:
            fields[name] |= {"type": "string", "pattern": f"^{URL.pattern}$"}
        needed = [name for name, _, is_needed in helped(type_) if is_needed]
        made["properties"][receiver] = {**_object(), "required": needed, "properties": fields}
    return made


DECIDED = {
    *("dialects", "features", "injections", "webhook", "webhook-names", "webhook-configuration"),
    "webhook-client-ca",
}
"""Settings that follow from other values of the chart."""
_KIND_ROWS = {
    "description": "rows for the tables of kinds, as in the config file",
    "type": "array",
    "items": {"type": "object", "required": ["kind", "resource"]},
}
_POLICY_KEYS: dict[str, Any] = {key: {} for key in ("match", *WORKLOAD_KEYS, *SOURCE_KEYS)}
ROW_SCHEMAS: dict[str, dict[str, Any]] = {
    "kinds": _KIND_ROWS,
    "sources": _KIND_ROWS,
    "policies": {
        "description": "defaults for some workloads or sources, as in the config file",
        "type": "array",
        "items": {"type": "object", "additionalProperties": False, "properties": _POLICY_KEYS},
    },
    "limits": {
        "description": "how many workloads may be under way at once: `cluster`, `namespace`",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "integer", "minimum": 0, "maximum": 999999, "description": told}
            for name, told, _ in helped(LimitsRow)
        },
    },
    "gates": {
        "description": "what is asked before a roll, as in the config file",
        "type": "array",
        "maxItems": GATES.number,
        "items": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {name: {"description": told} for name, told, _ in helped(GateRow)},
        },
    },
    "windows": {
        "description": "when rolls may begin, as in the config file",
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {name: {"description": told} for name, told, _ in helped(WindowFields)},
        },
    },
    "notices": {
        "description": "who is told what, as in the config file",
        "type": "array",
        "maxItems": notice_rows.MOST,
        "items": {
            "type": "object",
            "required": ["name", "to"],
            "additionalProperties": False,
            "properties": {
                **{name: {"description": told} for name, told, _ in helped(notice_rows.NoticeRow)},
                "to": _receivers(),
            },
        },
    },
}
"""Those of `settings.table.ROWS`."""

TYPES = {bool: "boolean", int: "integer", str: "string", dict: "object", list: "array"}
TEXTS = {"type": "array", "items": {"type": "string"}}


def _named(*names: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "enum": list(names)}}


_DURATION = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$|^0$"}
SETTING_TYPES: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 1, "maximum": 999999},
    float: {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1000000},
    timedelta: _DURATION,
    timedelta | None: _DURATION,
    Parallel: {
        "type": ["string", "integer"],
        "minimum": 1,
        "pattern": r"^(all|one|doubling|[1-9][0-9]{0,5}%?)$",
    },
    Rolls: {"type": "string", "pattern": r"^[0-9]{1,6}/.+$"},
    Address: {"type": "string", "pattern": r"^(.*:[0-9]{1,5})?$"},
    Texts: TEXTS,
    Hosts: TEXTS,
    KindNames: _named(*(kind.name for kind in KINDS)),
    SourceKinds: _named(*(source.name for source in SOURCE_KINDS)),
    DialectNames: TEXTS,
    OtherNames: {"type": ["array", "object"]},
}


def _setting(row: Setting) -> dict[str, Any]:
    type_ = (
        {"enum": list(row.choices)}
        if row.choices
        else SETTING_TYPES.get(row.type, {"type": "string"})
    )
    default = f" Without it: {row.shown_default}." if row.shown_default else ""
    return {"description": f"{row.about.help}.{default}", **type_}


# files/rights.yaml


def rights_file() -> str:
    """A line for each right; the templates choose by feature, place and kind."""
    lines = [f"# {MARK}", "rights:"]
    for row in rights.rights(KINDS):
        said = {"feature": row.feature.value, "place": row.place.value, "group": row.group}
        said |= {"resource": row.resource, "verbs": list(row.verbs)}
        said |= {key: value for key in ("name", "kind") if (value := getattr(row, key))}
        text = yaml.safe_dump(said, default_flow_style=True, sort_keys=False, width=1000).strip()
        lines.append(f"  - {text}")
    return "\n".join(lines) + "\n"


def dashboard_rights_file() -> str:
    """The same for the account of the dashboard; the templates choose by how people come in."""
    lines = [f"# {MARK}", "rights:"]
    for row in dashboard_rights.own_rights():
        said = {"auths": list(row.auths), "place": row.place.value, "group": row.group}
        said |= {"resource": row.resource, "verbs": list(row.verbs)}
        said |= {key: value for key in ("name", "kind") if (value := getattr(row, key))}
        text = yaml.safe_dump(said, default_flow_style=True, sort_keys=False, width=1000).strip()
        lines.append(f"  - {text}")
    return "\n".join(lines) + "\n"


# README.md


def readme() -> str:
    rows = [
        f"| `{'.'.join(value.path)}` | {value.text} | {_shown(value.default)} |"
        for value in values()
        if value.text
    ]
    table = "\n".join(["| value | meaning | default |", "| --- | --- | --- |", *rows])
    text = (CHART / "README.md").read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- values")
    _, _, after = rest.partition("<!-- end -->")
    return f"{before}<!-- values: {MARK} -->\n\n{table}\n\n<!-- end -->{after}"


def _shown(default: Any) -> str:
    if default in ("", None, {}, []):
        return ""
    text = default if isinstance(default, str) else json.dumps(default)
    return f"`{text}`"


# Chart.yaml


def chart() -> str:
    text = (CHART / "Chart.yaml").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^version: .*$", f"version: {__version__}", text)
    return re.sub(r"(?m)^appVersion: .*$", f'appVersion: "{__version__}"', text)


# files/ that others own


def pins() -> str:
    """What rewrites pods, less what the release decides: names, namespace and version."""
    policy, binding = admission_objects.policy("v1")
    (webhook,) = admission_objects.webhook(admission_objects.Service("", ""))
    (hook,) = webhook["webhooks"]
    service = {key: hook["clientConfig"]["service"][key] for key in ("path", "port")}
    found = {
        "policy": policy["spec"],
        "binding": {"matchResources": binding["spec"]["matchResources"]},
        "webhook": {**hook, "clientConfig": {"service": service}},
    }
    plain = json.loads(json.dumps(found))  # a part that stands in two places is written twice
    return f"# {MARK}\n{yaml.safe_dump(plain, sort_keys=False, width=100)}"


def approvals() -> str:
    """What guards approvals, less what the release decides: its names."""
    policy, binding = approval_objects.policy()
    actions = {"validationActions": binding["spec"]["validationActions"]}
    found = {"policy": policy["spec"], "binding": actions, "rules": approval_objects.RULES}
    return f"# {MARK}\n{yaml.safe_dump(found, sort_keys=False, width=100)}"


def _copy(*path: str) -> Callable[[], str]:
    """Helm reads only what is in the chart."""
    return lambda: ROOT.joinpath(*path).read_text(encoding="utf-8")


FILES: dict[Path, Callable[[], str]] = {
    CHART / "Chart.yaml": chart,
    CHART / "values.schema.json": schema,
    CHART / "files" / "rights.yaml": rights_file,
    CHART / "files" / "dashboard-rights.yaml": dashboard_rights_file,
    CHART / "files" / "pins.yaml": pins,
    CHART / "files" / "approvals.yaml": approvals,
    CHART / "files" / "injections.yaml": _copy("deploy", "crds", "injections.reroll.dev.yaml"),
    CHART / "files" / "alerts.yaml": _copy("deploy", "alerts", "reroll.yaml"),
    CHART / "files" / "dashboard.json": _copy("deploy", "grafana", "reroll.json"),
    CHART / "README.md": readme,
}


# deploy/

FEATURES = ("evict", "reload", "trigger", "recreate", "revisions", "canary", "injections")
INSTALLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "reroll.yaml": ("Reroll for a whole cluster.", {}),
    "reroll-namespaces.yaml": (
        "Reroll for the namespaces `shop` and `billing`: put the names of yours in their place.",
        {"settings": {"namespaces": ["shop", "billing"]}},
    ),
    "reroll-dashboard.yaml": (
        "Reroll for a whole cluster, with the dashboard, to which people sign in with a token.",
        {"dashboard": {"enabled": True, "auth": "token"}},
    ),
    "reroll-all-features.yaml": (
        "Reroll for a whole cluster, with every feature.",
        {"features": dict.fromkeys(FEATURES, True), "crds": {"keep": False}},
    ),
}
NAMESPACE = "reroll"


def installation(helm: Callable[..., str], name: str) -> str:
    """What the chart makes of the values of one installation, for kubectl."""
    title, given = INSTALLATIONS[name]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(json.dumps({**given, "tests": {"enabled": False}}))
        file.flush()
        where = ("--namespace", NAMESPACE, "--kube-version", "1.36", "--values", file.name)
        text = helm("template", "reroll", str(CHART), *where)
    # Nothing of Helm's is in these: kubectl and GitOps tools manage them.
    text = re.sub(r"(?m)^ *helm\.sh/chart: .*\n", "", text)
    text = re.sub(r"(?m)^( *app\.kubernetes\.io/managed-by:) Helm$", r"\1 kubectl", text)
    text = re.sub(r"(?m)^# Source: .*\n", "", text)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    home = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": labels},
    }
    head = f"# {title} {MARK}\n# kubectl apply --server-side -f {name}\n---\n"
    return f"{head}{yaml.safe_dump(home, sort_keys=False)}{text}"


def main() -> None:
    from reroll_dev import binaries

    for path, content in FILES.items():
        path.write_text(content(), encoding="utf-8")
    program = binaries.find(["helm"], env=os.environ)["helm"]
    if program is None:
        raise SystemExit("helm is not built; run `make control-plane`")

    def helm(*args: str) -> str:
        command = [program, *args]
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout

    for name in INSTALLATIONS:
        (ROOT / "deploy" / name).write_text(installation(helm, name), encoding="utf-8")


if __name__ == "__main__":
    main()
