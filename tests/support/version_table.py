"""The table of versions of Kubernetes in the guide to the chart, from what the tests run on.

`python -m tests.support.version_table` writes it anew; tests/test_versions.py compares.
"""

import re
from pathlib import Path

from tests.support.table_reference import _table

from reroll_dev.kubernetes import MINORS, POLICIES, Minor

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "install-chart.md"
UPDATE = "python -m tests.support.version_table"
MARK = "<!-- versions: generated, do not edit -->"
PART = re.compile(f"{re.escape(MARK)}\n.*?<!-- end -->", re.DOTALL)


def _streams(minor: Minor) -> str:
    return "yes" if minor.streams else "where the feature gate `WatchList` is on"


def _rewriter(minor: Minor) -> str:
    if minor.has_policies:
        return "the policy"
    if not minor.policies:
        return "the webhook"
    api = f"`admissionregistration.k8s.io/{minor.policies}`"
    return f"the webhook; the policy where {api} and the feature gate `{POLICIES}` are on"


def table() -> str:
    rows = [
        (minor.name, minor.version.bare, _streams(minor), _rewriter(minor))
        for minor in reversed(MINORS)
    ]
    return _table(("Kubernetes", "patch", "streaming lists", "who rewrites pods"), rows)


def current() -> str:
    """The page with the table as it should be."""
    made = f"{MARK}\n\n{table()}\n\n<!-- end -->"
    return PART.sub(lambda _: made, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(current(), encoding="utf-8")
