"""Every guide that somebody follows who installed the chart, on real pods: as it is printed."""

from collections.abc import Callable

import pytest
from tests.node.installation.reading import Reader
from tests.scenarios.stage import eventually
from tests.support.guides import ON_A_NODE, Guide
from tests.support.pages import DOCS, Step, walk

INSTALL = (
    "helm install reroll charts/reroll --namespace reroll --create-namespace --wait"
    " --set features.revisions=true"
)
FAILS = "kubectl apply -n shop -f faster.yaml"
"""After this command a rollout is not over before somebody mends it."""


def steps(guide: Guide) -> list[Step]:
    found = walk((DOCS / guide.page).read_text(encoding="utf-8"))
    last = [step for step in found if step.command.startswith(guide.last or "\0")]
    in_order = [*(step for step in found if step not in last), *last]
    return [step for step in in_order if not step.command.startswith(guide.left_out or "\0")]


def through(guide: Guide, one: Reader) -> None:
    one.run(f"kubectl create namespace {guide.namespace}")
    if guide.before:
        one.run(guide.before)
    for step in steps(guide):
        if step.command.startswith("kubectl patch") and FAILS not in one.said:
            one.settled(guide.namespace)
        one.follow(step, is_said=not step.command.startswith(guide.unsaid or "\0"))
        if step.command.startswith(("kubectl apply", "reroll restart")) and step.command != FAILS:
            one.settled(guide.namespace)
    if guide.after:
        one.run(guide.after)
    one.run(f"kubectl delete namespace {guide.namespace}")


@pytest.mark.timeout(1500)  # Several pages, and each of their commands may take its time.
def test_every_command_of_every_guide_works_as_printed(
    reader: Callable[[str], Reader],
) -> None:
    reader("").run(INSTALL)

    for guide in ON_A_NODE:
        through(guide, reader((DOCS / guide.page).read_text(encoding="utf-8")))

    pods = "kubectl get pods --namespace reroll --output name"
    eventually(lambda: reader("").run(pods) == "", "the last page has uninstalled it")
