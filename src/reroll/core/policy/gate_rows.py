"""Rows `gates:` of a config file.

    gates:
      - name: shop-alerts
        prometheus: {url: "http://prometheus.monitoring:9090"}
        alerts: severity="critical", namespace="$namespace"
      - name: errors
        prometheus: {url: "https://prometheus.example", token-file: /etc/reroll/token}
        query: sum(rate(failures_total{namespace="$namespace"}[2m]))
        max: 0.5
      - name: change-board
        webhook: {url: "https://gate.example/reroll"}
      - name: success
        analysisTemplate: success-rate
        args: {service: $workload}

Pure. Everything that is wrong with a file is told at once, a sentence each.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec

from reroll.core.model.gates import (
    Alerts,
    Analysis,
    Gate,
    Matcher,
    NoData,
    Query,
    Question,
    Server,
    Webhook,
)
from reroll.core.policy.durations import parse_duration
from reroll.core.policy.gates import NAME
from reroll.core.tables.custom_rows import Help, converted
from reroll.core.tables.limits import GATES

_OBJECT = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_MATCHER = re.compile(r'\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")
_URL = re.compile(
    r"https?://(?P<user>[^\s/?#]*@)?(\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)"
    r"(:(?P<port>[0-9]{1,5}))?(/[^\s?#]*)?(?P<rest>[?#]\S*)?"
)
VARIABLE = re.compile(r"\$(namespace|workload|kind)\b")
_SHORTEST, _LONGEST = timedelta(seconds=1), timedelta(hours=1)
_LONGEST_TIMEOUT = timedelta(minutes=1)
_LONGEST_RUN = timedelta(hours=24)
_LONGEST_TEXT = 4000


class ServerRow(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    url: Annotated[str, Help("where it is: `http://` or `https://`, without a user in it")]
    token_file: Annotated[str, Help("a file with a bearer token, read for each request")] = ""
    ca_file: Annotated[
        str, Help("a file with the authority to trust; without one, those of the system")
    ] = ""


class GateRow(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """A row of `gates:`."""

    name: Annotated[str, Help("what `reroll.dev/gates` calls it: small letters, digits and `-`")]
    prometheus: Annotated[
        ServerRow | None, Help("the server that `alerts` or `query` is asked of")
    ] = None
    alertmanager: Annotated[
        ServerRow | None, Help("the server that `alerts` is asked of, where silences count")
    ] = None
    webhook: Annotated[
        ServerRow | None,
        Help("asked by POST in Flagger's protocol; closed unless it answers with a status 2xx"),
    ] = None
    analysis_template: Annotated[
        str | None,
        Help("an AnalysisTemplate of Argo Rollouts in the namespace of the workload, to be run"),
    ] = msgspec.field(default=None, name="analysisTemplate")
    cluster_analysis_template: Annotated[
        str | None, Help("the same with a ClusterAnalysisTemplate")
    ] = msgspec.field(default=None, name="clusterAnalysisTemplate")
    args: Annotated[
        dict[str, str],
        Help("`analysisTemplate`: values of its args; `$namespace`, `$workload`, `$kind` count"),
    ] = {}
    alerts: Annotated[
        str | None, Help("closed while an alert fires that all these matchers match")
    ] = None
    query: Annotated[str | None, Help("closed while a value of it is out of bounds")] = None
    max: Annotated[float | None, Help("`query`: no value may be higher")] = None
    min: Annotated[float | None, Help("`query`: no value may be lower")] = None
    every: Annotated[
        str | None,
        Help(
            "how often it is asked while somebody waits for it; `30s`. `analysisTemplate`: how "
            "long after the end of a run the next one begins; `1m`"
        ),
    ] = None
    timeout: Annotated[
        str | None, Help("how long an answer is waited for; `10s`. `analysisTemplate`: `10m`")
    ] = None
    failures: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=100)] | None,
        Help("so many bad answers in a row fail what soaks; `alerts`: 1, `query`: 2"),
    ] = None
    no_data: Annotated[
        Literal["wait", "pass", "fail"],
        Help("`query`: what no value, or one that is no number, means; `wait`"),
    ] = "wait"
    metadata: Annotated[dict[str, str], Help("`webhook`: sent along")] = {}


def gates(given: Any) -> tuple[tuple[Gate, ...], list[str]]:
    """The rows of a file, and all that is wrong with them."""
    problems: list[str] = []
    found = tuple(_gates(given, problems))
    names = [gate.name for gate in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.append(f"gates: two rows are called {name!r}; rename one")
    if len(found) > GATES.number:
        problems.append(f"gates: {len(found)} rows are more than {GATES.number}; remove some")
    return found, problems


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """`severity="critical", team=~"a|b"`, with or without braces."""
    inner, at, found = text.strip().removeprefix("{").removesuffix("}"), 0, []
    while at < len(inner):
        match = _MATCHER.match(inner, at)
        if match is None:
            break
        found.append(Matcher(match[1], match[2], _ESCAPED.sub(_unescaped, match[3])))
        at = match.end()
    if not found or inner[at:].strip():
        raise ValueError('is no list of matchers; write e.g. severity="critical", team=~"a|b"')
    return tuple(found)


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found[1], found[1])


def _gates(given: Any, problems: list[str]) -> Iterator[Gate]:
    if not isinstance(given, list):
        if given is not None:
            problems.append("gates: is not a list; begin each row with a dash")
        return
    for number, row in enumerate(given):
        where = f"gates[{number}]"
        if not isinstance(row, Mapping):
            problems.append(f"{where}: is not a row; write e.g. `- name: errors`")
            continue
        if isinstance(name := row.get("name"), str):
            where += f" ({name[:80]})"
        read = converted(row, where, GateRow, problems)
        wrong: list[str] = []
        made = _gate(read, wrong) if read else None
        problems += [f"{where}: {problem}" for problem in wrong]
        if made is not None and not wrong:
            yield made


def _gate(row: GateRow, wrong: list[str]) -> Gate | None:
    if not re.fullmatch(NAME, row.name):
        wrong.append("name: use small letters, digits and `-`, at most 63")
    templates = [row.analysis_template, row.cluster_analysis_template]
    asked = [row.prometheus, row.alertmanager, row.webhook, *templates]
    if sum(one is not None for one in asked) != 1:
        names = "prometheus, alertmanager, webhook, analysisTemplate, clusterAnalysisTemplate"
        wrong.append(f"give it one of {names}")
        return None
    question = _question(row, wrong)
    runs = any(templates)
    every = _between(row.every or ("1m" if runs else "30s"), "every", _LONGEST, wrong)
    longest = _LONGEST_RUN if runs else _LONGEST_TIMEOUT
    timeout = _between(row.timeout or ("10m" if runs else "10s"), "timeout", longest, wrong)
    if question is None:
        return None
    used = set(VARIABLE.findall(_text(question)))
    return Gate(
        row.name,
        question,
        every,
        timeout,
        row.failures or (2 if isinstance(question, Query) else 1),
        per_namespace=bool(used),
        per_workload=bool(used - {"namespace"}) or isinstance(question, Webhook | Analysis),
    )


def _question(row: GateRow, wrong: list[str]) -> Question | None:
    wrong += _out_of_place(row)
    if template := row.analysis_template or row.cluster_analysis_template:
        return _analysis(row, template, wrong)
    if row.webhook:
        if sum(map(len, (*row.metadata, *row.metadata.values()))) > _LONGEST_TEXT:
            wrong.append(f"metadata: is longer than {_LONGEST_TEXT} characters; shorten it")
        return Webhook(_server(row.webhook, "webhook", wrong), row.metadata)
    known = row.prometheus or row.alertmanager
    if known is None:
        return None
    server = _server(known, "prometheus" if row.prometheus else "alertmanager", wrong)
    if row.alerts is not None:
        try:
            matchers = parse_matchers(row.alerts[:_LONGEST_TEXT])
        except ValueError as problem:
            wrong.append(f"alerts: {row.alerts[:80]!r} {problem}")
            return None
        return Alerts(server, matchers, is_alertmanager=row.alertmanager is not None)
    if row.query is None or len(row.query) > _LONGEST_TEXT:
        wrong.append(f"give it alerts, or a query of at most {_LONGEST_TEXT} characters")
        return None
    return Query(server, row.query, row.min, row.max, NoData(row.no_data))


def _analysis(row: GateRow, template: str, wrong: list[str]) -> Analysis:
    is_cluster = row.cluster_analysis_template is not None
    if not _OBJECT.fullmatch(template):
        field = "clusterAnalysisTemplate" if is_cluster else "analysisTemplate"
        wrong.append(
            f"{field}: {template[:80]!r} is no name of an object; use small letters, digits and `-`"
        )
    if sum(map(len, (*row.args, *row.args.values()))) > _LONGEST_TEXT:
        wrong.append(f"args: is longer than {_LONGEST_TEXT} characters; shorten it")
    return Analysis(template, is_cluster, row.args)


def _out_of_place(row: GateRow) -> Iterator[str]:
    """Fields that mean nothing with the others, or are missing beside them."""
    runs = row.analysis_template is not None or row.cluster_analysis_template is not None
    if (row.webhook or runs) and (row.alerts is not None or row.query is not None):
        other = "an analysisTemplate" if runs else "a webhook"
        yield f"alerts and query are asked of a prometheus, not of {other}"
    if row.args and not runs:
        yield "args: is for an analysisTemplate; remove it"
    if row.alertmanager and row.query is not None:
        yield "an alertmanager knows no queries; ask a prometheus"
    if row.alerts is not None and row.query is not None:
        yield "has alerts and query; make two rows of it"
    for name, value in (("max", row.max), ("min", row.min)):
        if value is not None and not math.isfinite(value):
            yield f"{name}: is no number; write e.g. 0.01"
    if row.query is None:
        for name, value in (("max", row.max), ("min", row.min)):
            if value is not None:
                yield f"{name}: is for a query; remove it"
    elif row.max is None and row.min is None:
        yield "query: give it max, min or both"
    elif row.max is not None and row.min is not None and not row.min <= row.max:
        yield f"min: {row.min:g} is more than max, {row.max:g}; lower it"
    if row.metadata and not row.webhook:
        yield "metadata: is for a webhook; remove it"


def _server(row: ServerRow, field: str, wrong: list[str]) -> Server:
    parts = _URL.fullmatch(row.url)
    if parts is None or not 0 < int(parts["port"] or 80) < 65536:
        wrong.append(
            f"{field}: url: is no http:// or https:// URL; write e.g. http://name.namespace:9090"
        )
    elif parts["user"] is not None:
        wrong.append(f"{field}: url: has a user in it; use token-file instead")
    elif parts["rest"] and field != "webhook":
        wrong.append(f"{field}: url: has something after its path; remove that")
    for name, file in (("token-file", row.token_file), ("ca-file", row.ca_file)):
        if file and not file.startswith("/"):
            wrong.append(f"{field}: {name}: {file[:80]!r} is no absolute path; begin it with a /")
    return Server(row.url, row.token_file, row.ca_file)


def _between(text: str, field: str, most: timedelta, wrong: list[str]) -> timedelta:
    found = parse_duration(str(text))
    if found is None or not _SHORTEST <= found <= most:
        seconds = f"{_SHORTEST.total_seconds():g}s and {most.total_seconds():g}s"
        wrong.append(f'{field}: {str(text)[:80]!r} is no time between {seconds}; write e.g. "30s"')
    return found or _SHORTEST


def _text(question: Question) -> str:
    if isinstance(question, Alerts):
        return ",".join(matcher.value for matcher in question.matchers)
    return question.text if isinstance(question, Query) else ""
