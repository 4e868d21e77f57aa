"""Every flag and chart value of Wave 0.11.0, and what becomes of it."""

from reroll.features.migration.rows import (
    Row,
    Takes,
    Value,
    becomes,
    missing,
    one_of,
    positive,
    truth,
    unneeded,
    whole,
    words,
)


def _level(text: str) -> str:
    """A word of zap, or a number: the higher, the more is told."""
    if text.isdecimal():
        return "debug" if int(text) else "info"
    known = one_of(debug="debug", info="info", error="error", panic="error")
    return str(known(text))


FLAGS: tuple[Row, ...] = (
    becomes("--leader-election", "leader-election", "on by default", Takes.SWITCH, truth),
    becomes("--leader-election-id", "lease"),
    becomes("--leader-election-namespace", "namespace", "of the Lease and of the digest key"),
    unneeded("--sync-period", "watches tell every change, and a silent watch is opened again"),
    becomes("--update-rate", "rate", "Wave's limit is for each kind, ours for all together", turn=positive),
    becomes("--update-burst", "burst", "", turn=whole),
    unneeded("--enable-webhooks", "adopting a workload never rolls it, so nothing has to stand in the way of its creation", Takes.SWITCH),
    becomes("--namespaces", "namespaces", "", Takes.LIST, words),
    unneeded("--version", "`reroll --version`", Takes.SWITCH),
    becomes("--kubeconfig", "kubeconfig"),
    missing("--zap-devel", "see `log-format` and `log-level`", Takes.SWITCH),
    becomes("--zap-encoder", "log-format", "", turn=one_of(json="json", console="text")),
    becomes("--zap-log-level", "log-level", "", turn=_level),
    missing("--zap-stacktrace-level", "tracebacks come with errors of the program itself, and no others"),
    missing("--zap-time-encoding", "times are always RFC 3339"),
)  # fmt: skip

VARIABLES: tuple[Row, ...] = ()

_POD = "about how the pod runs, not about what it does; say it to Kubernetes for Reroll's own Deployment"
_OBJECTS = "about the objects around the pod; Reroll's own manifests have theirs"

VALUES: tuple[Value, ...] = (
    Value("webhooks.enabled", "--enable-webhooks"),
    Value("syncPeriod", "--sync-period"),
    Value("updateRate", "--update-rate"),
    Value("updateBurst", "--update-burst"),
    Value("replicas", word="a leader is always elected, so several replicas can run"),
    Value("pdb", word=_OBJECTS),
    Value("serviceAccount", word=_OBJECTS),
    *(
        Value(path, word=_POD)
        for path in (
            "global", "annotations", "image", "nodeSelector", "extraVolumes", "extraVolumeMounts",
            "securityContext", "resources", "tolerations", "affinity", "topologySpreadConstraints",
            "podAnnotations", "podLabels",
        )
    ),
)  # fmt: skip
