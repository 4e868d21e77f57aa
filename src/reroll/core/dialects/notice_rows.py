"""Rows `notices:` of a config file: who is told what, and where.

    notices:
      - name: platform
        to: {slack: {webhook-file: /etc/reroll/notices/slack}}
        where: {namespaces: ["prod-*"]}
      - name: oncall
        to: {alertmanager: {url: "http://alertmanager.monitoring:9093"}}

Pure. Everything that is wrong with a file is told at once, a sentence each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Any

import msgspec

from reroll.core.model.key import Key, Problem
from reroll.core.model.names import quoted
from reroll.core.policy.durations import parse_duration
from reroll.core.policy.notice import Notice
from reroll.core.policy.policy import Policy
from reroll.core.policy.receivers import RECEIVERS, flaws
from reroll.core.policy.selectors import selector_in
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.custom_rows import Help, converted, listed
from reroll.core.tables.news import BY_WORD, PROBLEMS, News

MOST = 16
"""Rows: what was told of all of them is kept in one object, of at most a mebibyte."""
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?")
_LONGEST = timedelta(hours=24)


class WhereRow(msgspec.Struct, forbid_unknown_fields=True):
    namespaces: Annotated[list[str], Help("only in these namespaces; globs")] = []
    workloads: Annotated[
        dict[str, str] | str, Help("only workloads with these labels: a map, or a selector")
    ] = ""
    named: Annotated[
        bool,
        Help("only of workloads that name it, or whose Namespace does, in `reroll.dev/notice`"),
    ] = False


class NoticeRow(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """A row of `notices:`."""

    name: Annotated[str, Help("of the row: small letters, digits and dashes")]
    to: Annotated[dict[str, Any], Help("one receiver and what it needs: see below")]
    about: Annotated[
        list[str], Help("kinds of news, or `all`; without it, all that needs somebody")
    ] = []
    where: Annotated[dict[str, Any], Help("of whom: see below; without it, of all")] = {}
    gather: Annotated[
        str, Help("how long news of one change are gathered into one message; `15s`")
    ] = "15s"
    held_after: Annotated[str, Help("how long a roll is held before that is news; `1h`")] = "1h"
    link: Annotated[str, Help("where people can see more: a URL that every message has")] = ""
    cluster: Annotated[str, Help("the name of this cluster, which every message has")] = ""


def notices(given: Any) -> tuple[tuple[Notice, ...], list[str]]:
    """The rows of a file, and all that is wrong with them."""
    problems: list[str] = []
    if isinstance(given, list) and len(given) > MOST:
        problems.append(f"notices: has {len(given)} rows, and {MOST} is the most; remove some")
        given = given[:MOST]
    found = tuple(_rows(given, problems))
    names = [one.name for one in found]
    problems += [
        f"notices: two rows are called {name!r}; give each its own name"
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    return found, problems


def _rows(given: Any, problems: list[str]) -> Iterator[Notice]:
    for where, row in listed(given, "notices", "name: platform", problems):
        read = converted(row, where, NoticeRow, problems)
        scope = converted(read.where, f"{where}: where", WhereRow, problems) if read else None
        if read is None or scope is None:
            continue
        receiver, to = _receiver(read.to, where, problems)
        notice = Notice(
            name=_name(read.name, where, problems),
            receiver=receiver,
            to=to,
            about=_about(read.about, where, problems),
            namespaces=tuple(scope.namespaces),
            labels=selector_in(scope.workloads, f"{where}: where: workloads", problems),
            named=scope.named,
            gather=_duration(read.gather, f"{where}: gather", problems),
            held_after=_duration(read.held_after, f"{where}: held-after", problems),
            link=_link(read.link, where, problems),
            cluster=read.cluster[:100],
        )
        if to is not None:
            yield notice


def _name(given: str, where: str, problems: list[str]) -> str:
    if not _NAME.fullmatch(given):
        problems.append(
            f"{where}: name: {quoted(given)} cannot be one; use at most 40 small letters, digits "
            "and dashes"
        )
    return given


def _receiver(
    given: Mapping[str, Any], where: str, problems: list[str]
) -> tuple[str, msgspec.Struct | None]:
    if len(given) != 1:
        problems.append(
            f"{where}: to: names {len(given)} receivers, and a row has one; make a row for each"
        )
        return "", None
    name, fields = next(iter(given.items()))
    if name not in RECEIVERS:
        near = get_close_matches(str(name), RECEIVERS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(RECEIVERS)}"
        problems.append(f"{where}: to: there is no receiver {quoted(str(name))}; {hint}")
        return "", None
    place = f"{where}: to: {name}"
    if not isinstance(fields, Mapping):
        problems.append(
            f"{place}: is not a map; write e.g. {{webhook-file: /etc/reroll-notices/{name}}}"
        )
        return name, None
    to = converted(fields, place, RECEIVERS[name], problems)
    if to is not None:
        problems += [f"{place}: {flaw}" for flaw in flaws(to)]
    return name, to


def _about(given: Sequence[str], where: str, problems: list[str]) -> frozenset[News]:
    if not given:
        return frozenset(PROBLEMS)
    unknown = [word for word in given if word not in BY_WORD and word != "all"]
    problems += [
        f"{where}: about: there is no news {quoted(word)}; use all, {', '.join(BY_WORD)}"
        for word in unknown
    ]
    if "all" in given:
        return frozenset(News)
    return frozenset(BY_WORD[word] for word in given if word in BY_WORD)


def _duration(given: str, where: str, problems: list[str]) -> timedelta:
    found = parse_duration(given)
    if found is None or found > _LONGEST:
        problems.append(
            f"{where}: {quoted(given)} is not a duration of at most a day; write e.g. 30s"
        )
    return found or timedelta()


def _link(given: str, where: str, problems: list[str]) -> str:
    if given and not re.fullmatch(r"https?://\S{1,500}", given):
        problems.append(
            f"{where}: link: is no http:// or https:// URL; write e.g. https://reroll.example.com"
        )
    return given


# Whose news they get


def routed(policy: Policy, workload: Key, rows: Sequence[Notice]) -> Policy:
    """The policy with the rows that get news of a workload; `notices` are those it may have.

    A name that no row has, or whose row is for others, is a problem.
    """
    by_name = {row.name: row for row in rows}
    wrong = []
    for name in policy.notice:
        if name not in by_name:
            near = get_close_matches(name, by_name, 1)
            there = f"there are {', '.join(by_name)}" if by_name else "no notice is configured"
            hint = f"did you mean {near[0]!r}?" if near else there
            wrong.append(f"no notice is called {quoted(name)}; {hint}")
        elif name not in policy.notices:
            wrong.append(f"the notice {name!r} is not for it, by its `where`")
    kept = tuple(
        name for name in policy.notices if not by_name[name].named or name in policy.notice
    )
    problems = tuple(Problem(f"annotation {DOMAIN}notice for {workload}: {one}") for one in wrong)
    return msgspec.structs.replace(
        policy, notices=kept, problems=(*policy.problems, *problems[:_FEW])
    )


_FEW = 5
"""Problems of one annotation that are told."""
