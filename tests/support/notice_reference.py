"""The page docs/reference/notices.md, generated from the tables of news and of receivers.

`python -m tests.support.notice_reference` rewrites it; tests/features/notices compares.
"""

# ruff: noqa: E501  pages have one sentence a line

import msgspec
from tests.support.table_reference import FOLDER, _table

from reroll.core.dialects.notice_rows import MOST, NoticeRow, WhereRow
from reroll.core.policy.receivers import PLACEHOLDERS, RECEIVERS
from reroll.core.tables.custom_rows import helped
from reroll.core.tables.news import News, problem_of
from reroll.core.tables.reasons import Reason

PAGE = FOLDER / "notices.md"
UPDATE = "python -m tests.support.notice_reference"
INTRODUCTION = f"""\
# Notices

<!-- Generated from the tables: do not edit. `{UPDATE}` rewrites it. -->

Rows `notices:` of the [config file](settings.md), {MOST} at most; the [guide](../guides/notices.md) says how they behave.

```yaml
notices:
  - name: platform
    to: {{slack: {{webhook-file: /etc/reroll-notices/slack}}}}
    about: [stopped, failed, rolled-back]
    where: {{namespaces: ["prod-*"]}}
```"""


def reference() -> str:
    news = [
        (f"`{one.word}`", one.severity, f"workloads are {one.sentence}", _reasons(one))
        for one in News
    ]
    receivers = [part for name, to in RECEIVERS.items() for part in _receiver(name, to)]
    names = ", ".join(f"`${{{name}}}`" for name in PLACEHOLDERS)
    parts = [
        INTRODUCTION,
        _fields(NoticeRow),
        "## `where`",
        _fields(WhereRow),
        "## `about`",
        _table(("news", "severity", "when", "reasons"), news),
        "## `to`",
        "One receiver, and what it needs. Paths are of the controller's pod; the files are read for each message.",
        *receivers,
        "## Placeholders of a template",
        f"{names}.",
    ]
    return "\n\n".join(parts) + "\n"


def _reasons(news: News) -> str:
    found = [one for one in Reason if problem_of(one) is news]
    if news is News.HELD:
        return "every other [reason](reasons.md) that holds a roll back with a warning, once it has lasted for `held-after`"
    if not found:
        return "a roll was made"
    return ", ".join(f"`{one.word}`" for one in found)


def _receiver(name: str, to: type[msgspec.Struct]) -> tuple[str, str]:
    return f"### `{name}`", _fields(to)


def _fields(row: type[msgspec.Struct]) -> str:
    found = [(f"`{name}`{'' if not must else ' *'}", told) for name, told, must in helped(row)]
    return _table(("field (* required)", "meaning"), found)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
