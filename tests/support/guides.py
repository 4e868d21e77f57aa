"""Which pages are followed from their first command to their last, and where.

One table for all: a page is run after a chart installation on a real node (`ON_A_NODE`, by
tests/node/installation), or says where else its commands are run, and why not there (`ELSEWHERE`).
"""

from typing import NamedTuple


class Guide(NamedTuple):
    """A page that somebody follows who installed the chart."""

    page: str
    namespace: str = "shop"
    """Made before it begins, as the page has its readers do or takes for granted."""
    left_out: tuple[str, ...] = ()
    """How commands begin that need what this cluster has not."""
    unsaid: tuple[str, ...] = ()
    """How commands begin of which only the exit code counts: what they print depends on who is
    quicker, the command or the controller, or is that of another installation."""
    last: tuple[str, ...] = ()
    """How blocks begin that are run last: what is shown before it is explained, and the end."""


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
    "guides/custom-kinds.md": "tests/test_custom_guide.py: kinds of other operators",
    "guides/from-reloader.md": "tests/scenarios/test_migrate.py: Reloader's own cluster",
    "guides/from-wave.md": "tests/scenarios/test_wave_left.py: Wave's own cluster",
    "guides/render.md": "tests/scenarios/test_render_guide.py: it needs no cluster",
    "guides/windows.md": "tests/scenarios/test_windows.py: its times have to come first",
    "guides/approvals.md": "tests/scenarios/test_approvals.py: people with other rights",
    "guides/canary.md": "tests/scenarios/test_canary.py: pods that fail when they are told to",
    "guides/gates.md": "tests/scenarios/test_gates.py and tests/prometheus: servers to ask",
    "guides/dashboard.md": "tests/scenarios/test_dashboard.py: a page to look at",
    "guides/notices.md": "tests/scenarios/test_notices.py: receivers outside of the cluster",
    "guides/sources.md": "tests/scenarios/test_sources.py: a reference, with no story to follow",
    "guides/strategies.md": "tests/node/test_strategies.py: a reference, with no story to follow",
    "guides/with-argocd.md": "tests/neighbours/test_argocd.py: with an Argo CD",
    "guides/with-cert-manager.md": "tests/neighbours/test_cert_manager.py: with a cert-manager",
    "guides/develop.md": "tests/reroll_dev: for contributors",
    "guides/release.md": "tests/release: for maintainers",
}
