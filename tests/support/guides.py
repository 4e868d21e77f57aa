"""Which pages are followed from their first command to their last, and where.

One table for all: a page is run after a chart installation on a real node (`ON_A_NODE`, by
tests/node/installation), or says where else its commands are run, and why not there (`ELSEWHERE`).
"""

import json
import shlex
from typing import NamedTuple


class Guide(NamedTuple):
    """A page that somebody follows who installed the chart."""

    page: str
    namespace: str = "shop"
    """Made before it begins, as the page has its readers do or takes for granted."""
    before: str = ""
    """A command for what else the page takes for granted."""
    after: str = ""
    """A command that removes what deleting the namespace does not."""
    left_out: tuple[str, ...] = ()
    """How commands begin that need what this cluster has not."""
    unsaid: tuple[str, ...] = ()
    """How commands begin of which only the exit code counts: what they print depends on who is
    quicker, the command or the controller, or is that of another installation."""
    last: tuple[str, ...] = ()
    """How blocks begin that are run last: what is shown before it is explained, and the end."""


def stand_in(name: str, namespace: str, *args: str) -> str:
    """Makes a Deployment that is told what another tool is told; nothing of it runs."""
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "nodeSelector": {"kubernetes.io/os": "none"},
                    "containers": [
                        {"name": name, "image": "nginx:1.29-alpine", "args": list(args)}
                    ],
                },
            },
        },
    }
    return f"echo {shlex.quote(json.dumps(manifest))} | kubectl apply -f -"


ON_A_NODE = (
    Guide("guides/answers.md"),
    Guide(
        "guides/pipeline.md",
        left_out=("reroll sync -n shop --wait --timeout 2m",),  # Its pods do not fail.
        unsaid=("reroll sync",),
        last=("kubectl apply -n shop -f shop.yaml\nreroll sync",),
    ),
    Guide(
        "guides/revisions.md",
        left_out=("helm upgrade",),  # It takes an API server with a client certificate.
        unsaid=("reroll pins",),
    ),
    Guide("guides/propagation.md"),
    Guide(
        "guides/approvals.md",
        unsaid=("reroll approve ",),  # It says by whom.
        after="reroll approvals uninstall",
    ),
    Guide(
        "guides/windows.md",
        namespace="shop-eu",
        unsaid=("reroll windows",),  # What is open depends on the day.
    ),
    Guide("guides/sources.md", left_out=("reroll run",)),  # It is installed, and runs.
    Guide(
        "guides/from-reloader.md",
        namespace="reloader",
        before=stand_in(
            "reloader-reloader", "reloader", "--auto-reload-all", "--reload-strategy=annotations"
        ),
        left_out=("reroll run",),
    ),
    Guide(
        "guides/from-wave.md",
        namespace="wave",
        before=stand_in("wave-wave", "wave", "--leader-election", "--update-rate=2"),
        left_out=("reroll run",),
    ),
    Guide(
        "guides/operate.md",
        unsaid=("reroll doctor", "reroll key"),
        last=("reroll pins uninstall\nhelm uninstall",),
    ),
)
"""With `features.revisions`, in this order: the last one uninstalls."""

ELSEWHERE = {
    "tutorial.md": "tests/node/installation/test_tutorial.py: it installs the chart itself",
    "install.md": "tests/node/installation/test_chart.py and test_manifests.py",
    "guides/install-chart.md": "tests/node/installation: each of its parts is a test there",
    "guides/injection.md": "tests/scenarios/test_injection_guide.py: a kind of another operator",
    "guides/custom-kinds.md": "tests/test_custom_guide.py: it has no command",
    "guides/render.md": "tests/scenarios/test_render_guide.py: it needs no cluster",
    "guides/canary.md": "tests/scenarios/test_canary.py: pods that fail when they are told to",
    "guides/gates.md": "tests/scenarios/test_gates.py and tests/prometheus: it has no command",
    "guides/dashboard.md": "tests/scenarios/test_dashboard.py: a page to look at",
    "guides/notices.md": "tests/scenarios/test_notices.py: receivers outside of the cluster",
    "guides/strategies.md": "tests/node/test_strategies.py: it has no command",
    "guides/with-argocd.md": "tests/neighbours/test_argocd.py: with an Argo CD",
    "guides/with-flux.md": "tests/neighbours/test_flux.py: with a Flux",
    "guides/with-external-secrets.md": "tests/neighbours/test_external_secrets.py: with one",
    "guides/with-cert-manager.md": "tests/neighbours/test_cert_manager.py: with a cert-manager",
    "guides/develop.md": "tests/reroll_dev: for contributors",
    "guides/release.md": "tests/release: for maintainers",
}
