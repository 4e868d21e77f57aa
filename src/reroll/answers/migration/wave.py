"""Every flag and chart value of Wave 0.11.0, and what becomes of it."""

from reroll.answers.migration.rows import (
    Row,
    Takes,
    Value,
    becomes,
    carried,
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
    unneeded("--sync-period", "watches report every change, and a silent watch is reopened"),
    becomes("--update-rate", "rate", "Wave's limit is for each kind, ours for all together", turn=positive),
    becomes("--update-burst", "burst", "", turn=whole),
    unneeded("--enable-webhooks", "adopting a workload never rolls it, so nothing has to block its creation", Takes.SWITCH),
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

_POD = "about Wave's own pod; Reroll's chart has what it needs"
_OBJECTS = "about the objects around Wave's pod; Reroll's chart has its own"

VALUES: tuple[Value, ...] = (
    Value("webhooks.enabled", "--enable-webhooks"),
    Value("syncPeriod", "--sync-period"),
    Value("updateRate", "--update-rate"),
    Value("updateBurst", "--update-burst"),
    carried("pdb.enabled", "podDisruptionBudget.enabled"),
    Value("pdb", word=_OBJECTS),
    carried("serviceAccount.create", "serviceAccount.create"),
    Value("serviceAccount", word=_OBJECTS),
    carried("global.rbac.enabled", "rbac.create"),
    carried("global.imagePullSecrets", "global.imagePullSecrets"),
    Value("global", word=_POD),
    *(
        carried(path, path)
        for path in (
            "replicas", "annotations", "nodeSelector", "extraVolumes", "extraVolumeMounts", "tolerations", "affinity",
            "topologySpreadConstraints", "podAnnotations", "podLabels",
        )
    ),
    Value("image", word=_POD),
    Value("securityContext", word=_POD),
    Value("resources", word="Reroll needs less, and its chart asks for what was measured"),
)  # fmt: skip
