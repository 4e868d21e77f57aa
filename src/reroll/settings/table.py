"""Every setting, once: flags, environment variables, config file and the reference page come from it.

A setting is a field of `Settings` with its group and help beside it. `resolve` reads only the
mappings that it is given, and tells all problems at once.
"""

from datetime import timedelta
from typing import Annotated, Literal, get_args, get_type_hints

import msgspec

from reroll.core.model.gates import Gate
from reroll.core.model.pace import ALL, USUAL_ROLLS, Limits, Parallel, Rolls
from reroll.core.model.windows import Calendar
from reroll.core.policy.notice import Notice
from reroll.core.policy.rows import Policies
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.rights import DEFAULT, OPTIONAL
from reroll.settings.parsers import (
    Address,
    DialectNames,
    FeatureNames,
    Hosts,
    KindNames,
    LabelSelector,
    OtherNames,
    SourceKinds,
    Texts,
)
from reroll.settings.rows import CLUSTER, PACE, ROLL, RUN, SCOPE, SECOND, About, Setting


class Settings(msgspec.Struct, frozen=True):
    kubeconfig: Annotated[
        str,
        About(
            CLUSTER,
            "kubeconfig file (also $KUBECONFIG); without one, the service account of the pod",
            "~/.kube/config",
        ),
    ] = ""
    context: Annotated[str, About(CLUSTER, "context of the kubeconfig", "production")] = ""
    namespace: Annotated[
        str,
        About(
            CLUSTER,
            "namespace of its own Lease and digest key; without one, that of the pod or context",
            "reroll",
        ),
    ] = ""
    connections: Annotated[
        int, About(CLUSTER, "most connections to the API server at once", "96")
    ] = 96

    namespaces: Annotated[
        Texts,
        About(
            SCOPE,
            "only these namespaces, each watched on its own: needs no cluster-wide right",
            "shop,billing",
        ),
    ] = ()
    exclude_namespaces: Annotated[
        Texts, About(SCOPE, "leave these namespaces alone; globs", "kube-*")
    ] = ()
    namespace_selector: Annotated[
        LabelSelector, About(SCOPE, "only namespaces with these labels", "team=shop")
    ] = LabelSelector("")
    workload_selector: Annotated[
        LabelSelector, About(SCOPE, "only workloads with these labels", "tier!=batch")
    ] = LabelSelector("")
    source_selector: Annotated[
        LabelSelector, About(SCOPE, "only ConfigMaps and Secrets with these labels", "reload=yes")
    ] = LabelSelector("")
    exclude_kinds: Annotated[
        KindNames, About(SCOPE, "leave these kinds of workloads alone", "Job,CronJob")
    ] = KindNames(())
    exclude_sources: Annotated[
        SourceKinds, About(SCOPE, "changes of these kinds of sources roll nothing", "Secret")
    ] = SourceKinds(())
    dialects: Annotated[
        DialectNames,
        About(
            SCOPE,
            "whose annotations are read: reroll, and on request those of reloader and wave",
            "reroll,reloader",
        ),
    ] = DialectNames(("reroll",))
    annotation_names: Annotated[
        OtherNames,
        About(
            SCOPE,
            "annotations of other tools that go by another name in this cluster",
            "reloader.stakater.com/auto=example.com/auto",
        ),
    ] = OtherNames(())
    auto_all: Annotated[
        bool, About(SCOPE, "every workload is opted in, unless it opts out", "true")
    ] = False

    injections: Annotated[
        bool,
        About(
            SCOPE,
            "write values of ConfigMaps and Secrets into other objects, as Injections say; needs their CRD, see `reroll crds`",
            "true",
        ),
    ] = False

    strategy: Annotated[
        Literal["", "stamp", "env", "restart", "evict", "notify"],
        About(
            ROLL,
            "default strategy of workloads; a kind that cannot do it uses its own default",
            "restart",
        ),
    ] = ""
    reloader_strategy: Annotated[
        Literal["env-vars", "annotations"],
        About(ROLL, "what a roll writes to a workload with Reloader's annotations", "annotations"),
    ] = "env-vars"
    reload_on_create: Annotated[
        bool,
        About(ROLL, "roll workloads with Reloader's annotations when a source is created", "true"),
    ] = False
    reload_on_delete: Annotated[
        bool,
        About(ROLL, "roll them when a source is deleted that pods can start without", "true"),
    ] = False
    foreign_hashes: Annotated[
        Literal["same", "secrets-keyed", "keyed"],
        About(
            ROLL,
            "hashes in the marks of other tools: the same as theirs, keyed where they cover a Secret, so that no weak password can be guessed, or all keyed; those of sources of other namespaces always are",
            "same",
        ),
    ] = "secrets-keyed"
    mounts: Annotated[
        Literal["frozen", "live"],
        About(
            ROLL,
            "whether plain volume mounts roll a workload by default (frozen) or not (live)",
            "live",
        ),
    ] = "frozen"
    pins: Annotated[
        Literal["auto", "admission", "template"],
        About(
            ROLL,
            "how pods of workloads with revisions get their copies: `admission` when a pod is created, `template` by names in the pod template",
            "template",
        ),
    ] = "auto"
    debounce: Annotated[timedelta, About(ROLL, "quiet time before a roll", "5s")] = timedelta(
        seconds=1
    )
    debounce_limit: Annotated[
        timedelta,
        About(ROLL, "longest time that a source that keeps changing can delay a roll", "1m"),
    ] = timedelta(seconds=10)
    concurrency: Annotated[int, About(ROLL, "workloads worked on at once", "80")] = 80
    rate: Annotated[float, About(ROLL, "rolls per second in the long run", "20")] = 100.0
    burst: Annotated[
        int, About(ROLL, "rolls that may start at once before the rate applies", "50")
    ] = 500

    max_parallel: Annotated[
        Parallel,
        About(
            PACE,
            "how many of the workloads that a change affects may roll at once: `all`, `one`, a number, a percentage, or `doubling`",
            "10%",
        ),
    ] = ALL
    soak: Annotated[
        timedelta,
        About(PACE, "how long a workload has to stay healthy before it counts as healthy", "2m"),
    ] = timedelta()
    deadline: Annotated[
        timedelta | None,
        About(
            PACE,
            "time after which an unfinished rollout counts as failed; without it, `progressDeadlineSeconds`, or ten minutes",
            "15m",
            SECOND,
        ),
    ] = None
    on_failure: Annotated[
        Literal["", "hold", "rollback", "continue"],
        About(PACE, "what happens to a change when a workload fails with it", "rollback"),
    ] = ""
    cooldown: Annotated[
        timedelta, About(PACE, "shortest time between two rolls of a workload", "5m")
    ] = timedelta()
    max_rolls: Annotated[
        Rolls, About(PACE, "most rolls of a workload in a time; `0/1h` for no limit", "10/1h")
    ] = USUAL_ROLLS

    features: Annotated[
        FeatureNames,
        About(
            RUN,
            "what workloads may ask for besides rolling; the controller needs rights for each",
            "evict,revisions",
        ),
    ] = FeatureNames(tuple(one.value for one in OPTIONAL if one in DEFAULT))
    leader_election: Annotated[
        bool, About(RUN, "elect a leader with a Lease, so that several replicas can run", "false")
    ] = True
    lease: Annotated[
        str, About(RUN, "name of the Lease; give each installation its own", "reroll-team-a")
    ] = "reroll"
    lease_duration: Annotated[
        timedelta, About(RUN, "how long to wait for a dead leader", "15s", SECOND)
    ] = timedelta(seconds=7)
    digest_key: Annotated[
        str,
        About(RUN, "name of the Secret with the key for digests of Secrets", "reroll-digest-key"),
    ] = "reroll-digest-key"
    listen: Annotated[
        Address, About(RUN, "address for /metrics, /healthz and /readyz; empty: none", ":9090")
    ] = Address(":8080")
    probes: Annotated[
        Address,
        About(
            RUN,
            "address for /healthz and /readyz alone, so that scrapers of metrics cannot delay the kubelet; empty: none",
            ":8081",
        ),
    ] = Address("")
    webhook: Annotated[
        Address,
        About(
            RUN,
            "address for the webhook that rewrites pods of pinned templates; empty: none",
            ":9443",
        ),
    ] = Address("")
    webhook_names: Annotated[
        Hosts,
        About(
            RUN,
            "names and addresses by which the API server calls the webhook (default: those of its Service)",
            "reroll-webhook.reroll.svc",
        ),
    ] = Hosts(())
    webhook_client_ca: Annotated[
        str,
        About(
            RUN,
            "file with the authorities that sign the API server's client certificate; empty: no certificate is required",
            "/etc/reroll/client-ca.crt",
        ),
    ] = ""
    webhook_configuration: Annotated[
        str,
        About(RUN, "MutatingWebhookConfiguration whose caBundle is kept current", "reroll-pins"),
    ] = "reroll-pins"
    log_format: Annotated[
        Literal["auto", "json", "text"],
        About(RUN, "`auto`: text in a terminal, JSON elsewhere", "json"),
    ] = "auto"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        About(RUN, "lowest level to log", "debug"),
    ] = "info"
    grace: Annotated[
        timedelta, About(RUN, "longest time to finish work when asked to stop", "10s")
    ] = timedelta(seconds=10)
    watch_silence: Annotated[
        timedelta, About(RUN, "reopen a watch that was silent for this long", "2m", SECOND)
    ] = timedelta(seconds=100)

    tables: Tables = TABLES
    """The kinds of workloads and sources: no row of the table below, see `core.custom`."""
    policies: Policies = Policies()
    """Defaults for some workloads and sources, see `core.dialects.policy_rows`."""
    limits: Limits = Limits()
    windows: Calendar = Calendar()
    """See `core.policy.window_rows`."""
    gates: tuple[Gate, ...] = ()
    """What is asked before a roll, see `core.policy.gate_rows`."""
    notices: tuple[Notice, ...] = ()
    """Who is told what, see `core.dialects.notice_rows`."""


def _table() -> tuple[Setting, ...]:
    hints = get_type_hints(Settings, include_extras=True)
    fields = msgspec.structs.fields(Settings)
    rows = []
    for field in fields:
        type_, about = (*get_args(hints[field.name]), None, None)[:2]
        if not isinstance(about, About):
            continue
        rows.append(Setting(field.name, type_, field.default, about))
    return tuple(rows)


SETTINGS: tuple[Setting, ...] = _table()
KIND_ROWS = ("kinds", "sources")
ROWS = (*KIND_ROWS, "policies", "limits", "windows", "gates", "notices")
"""Keys of the config file that are no settings: rows for the tables of kinds, for workloads, and
for those who are told."""
