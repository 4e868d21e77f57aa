"""Fixtures of the chart's tests: a namespace that lets in only what is restricted, and releases."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.rendered import values_file
from tests.support.chart import CHART
from tests.support.tools import Tool

from reroll_dev.api import Api, ApiError, path_of, path_to

MONITORS = Path(__file__).parent / "monitors.yaml"
RESTRICTED = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}


@pytest.fixture
def home(api: Api, namespace: str) -> str:
    """The test's namespace; a pod that is not restricted is not let in."""
    api.patch(path_to("Namespace", namespace), RESTRICTED)
    return namespace


@pytest.fixture
def another(api: Api, namespace: str) -> Iterator[str]:
    """One more namespace, in which nothing is installed."""
    name = f"{namespace}-more"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    api.delete(path_to("Namespace", name))


@pytest.fixture
def monitors(api: Api) -> None:
    """The kinds of the Prometheus operator are served; they stay, for others that need them."""
    for manifest in yaml.safe_load_all(MONITORS.read_text(encoding="utf-8")):
        try:
            api.create(manifest)
        except ApiError as error:
            assert error.status == 409  # noqa: PT017  somebody was faster
        api.wait_for(path_of(manifest), _is_served)


def _is_served(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


@pytest.fixture
def release(home: str, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """`release(helm, "install", {"replicas": 1})`: a release named like its namespace."""
    tools: list[Tool] = []

    def run(tool: Tool, command: str, values: dict[str, Any] | None = None, *flags: str) -> str:
        if tool not in tools:
            tools.append(tool)
        given = () if values is None else (CHART, "--values", values_file(tmp_path, values))
        return tool(command, home, *given, "--namespace", home, *flags)

    yield run
    for tool in tools[:1]:
        tool("uninstall", home, "--namespace", home, "--ignore-not-found")
