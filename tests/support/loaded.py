"""`python -m tests.support.loaded FILE run …`: `reroll`, which writes down what it has loaded."""

import sys
from pathlib import Path

UNASKED = (
    "concurrent.futures.thread",
    "cryptography",
    "dataclasses",
    "difflib",
    "email",
    "http.client",
    "json",
    "re2",
    "reroll.answers",
    "reroll.core.dialects.notice_rows",
    "reroll.core.dialects.policy_rows",
    "reroll.core.model.fieldpaths",
    "reroll.core.model.injection",
    "reroll.core.policy.gate_rows",
    "reroll.core.policy.receivers",
    "reroll.core.policy.openings",
    "reroll.core.policy.window_rows",
    "reroll.core.policy.windows",
    "reroll.core.policy.zones",
    "reroll.core.tables.custom",
    "reroll.dashboard",
    "reroll.engine.admission_objects",
    "reroll.engine.rewriters",
    "reroll.engine.row_checks",
    "reroll.engine.strategies.addresses",
    "reroll.engine.strategies.canary",
    "reroll.engine.strategies.go_back",
    "reroll.engine.strategies.pin_names",
    "reroll.engine.strategies.pods",
    "reroll.engine.strategies.repair",
    "reroll.engine.strategies.stuck_pods",
    "reroll.engine.strategies.value_marks",
    "reroll.features.admission",
    "reroll.features.gates",
    "reroll.features.injection",
    "reroll.features.notices",
    "reroll.http.fetch",
    "reroll.kube.plugin",
    "reroll.manifests",
    "reroll.pipeline",
    "reroll.pki",
    "reroll.settings.document",
    "reroll.x509",
    "rich",
    "shutil",
    "starlette",
    "stringprep",
    "tempfile",
    "unicodedata",
    "urllib.request",
    "uvicorn",
    "zoneinfo",
)
"""What the controller loads only once a setting or a workload asks for it, with all below it."""


def unasked(loaded: list[str]) -> list[str]:
    """Of these modules, those that nobody asked for."""
    return [one for one in loaded if any(f"{one}.".startswith(f"{each}.") for each in UNASKED)]


if __name__ == "__main__":
    written = Path(sys.argv.pop(1))

    from reroll.cli.app import run

    code = run(sys.argv[1:])
    written.write_text("\n".join(sorted(sys.modules)), encoding="utf-8")
    sys.exit(code)
