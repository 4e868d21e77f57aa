"""Every setting, once: flags, environment variables, config file and the reference page come from it.

A setting is a field of `Settings` with its group and help beside it. `resolve` reads only the
mappings that it is given, and tells all problems at once.
"""

from datetime import timedelta
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from reroll.core.policy.durations import format_duration
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

ENVIRONMENT_PREFIX = "REROLL_"


class About(NamedTuple):
    group: str
    help: str
    example: str = ""
    least: timedelta = timedelta()


SECOND = timedelta(seconds=1)
SCOPE = "What it looks at"
ROLL = "How it rolls"
CLUSTER = "The cluster"
RUN = "Running it"


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
        int, About(CLUSTER, "most connections to the API server at once", "80")
    ] = 80

    namespaces: Annotated[
        Texts,
        About(
            SCOPE,
            "only these namespaces, each watched on its own: needs no cluster-wide right",
            "shop,billing",
        ),
    ] = ()
    exclude_namespaces: Annotated[
        Texts, About(SCOPE, "never these namespaces; globs", "kube-*")
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
        SourceKinds, About(SCOPE, "no change of these kinds of sources rolls anything", "Secret")
    ] = SourceKinds(())
    dialects: Annotated[
        DialectNames,
        About(SCOPE, "whose annotations are read: of this product, and of other tools", "reroll"),
    ] = DialectNames(("reroll", "reloader", "wave"))
    annotation_names: Annotated[
        OtherNames,
        About(
            SCOPE,
            "annotations of other tools that go by another name in this cluster",
            "reloader.stakater.com/auto=example.com/auto",
        ),
    ] = OtherNames(())
    auto_all: Annotated[bool, About(SCOPE, "every workload is in, unless it opted out", "true")] = (
        False
    )

    injections: Annotated[
        bool,
        About(
            SCOPE,
            "keep pieces of ConfigMaps and Secrets in other objects, where Injections ask for it; needs their CRD, see `reroll crds`",
            "true",
        ),
    ] = False

    strategy: Annotated[
        Literal["", "stamp", "env", "restart", "evict", "notify"],
        About(
            ROLL,
            "how workloads roll that do not say; kinds that cannot do it do what is usual for them",
            "restart",
        ),
    ] = ""
    reloader_strategy: Annotated[
        Literal["env-vars", "annotations"],
        About(ROLL, "what marks a roll of a workload with Reloader's annotations", "annotations"),
    ] = "env-vars"
    reload_on_create: Annotated[
        bool,
        About(ROLL, "a source that appears rolls workloads with Reloader's annotations", "true"),
    ] = False
    reload_on_delete: Annotated[
        bool,
        About(ROLL, "a source that goes away rolls them, as far as pods can start without", "true"),
    ] = False
    foreign_hashes: Annotated[
        Literal["same", "secrets-keyed", "keyed"],
        About(
            ROLL,
            "the hashes in marks of other tools: the same as theirs, keyed where a Secret is hashed, which gives no weak password away, or all keyed; those of sources of other namespaces always are",
            "same",
        ),
    ] = "secrets-keyed"
    mounts: Annotated[
        Literal["frozen", "live"],
        About(ROLL, "whether a plain volume mount rolls a workload that does not say", "live"),
    ] = "frozen"
    pins: Annotated[
        Literal["auto", "admission", "template"],
        About(
            ROLL,
            "how pods of workloads with revisions come to use their copies: `admission` when a pod is made, `template` by names in the pod template",
            "template",
        ),
    ] = "auto"
    debounce: Annotated[timedelta, About(ROLL, "quiet time before a roll", "5s")] = timedelta(
        seconds=1
    )
    debounce_limit: Annotated[
        timedelta,
        About(ROLL, "longest that a source which keeps changing can put a roll off", "1m"),
    ] = timedelta(seconds=10)
    concurrency: Annotated[int, About(ROLL, "workloads worked on at once", "64")] = 64
    rate: Annotated[float, About(ROLL, "rolls per second, over a longer time", "20")] = 100.0
    burst: Annotated[
        int, About(ROLL, "rolls that may start at once before the rate counts", "50")
    ] = 500

    features: Annotated[
        FeatureNames,
        About(
            RUN,
            "what workloads may ask for beside rolling, and what it needs rights for",
            "evict,revisions",
        ),
    ] = FeatureNames(tuple(one.value for one in OPTIONAL if one in DEFAULT))
    leader_election: Annotated[
        bool, About(RUN, "elect a leader by a Lease, so that several replicas can run", "false")
    ] = True
    lease: Annotated[
        str, About(RUN, "name of the Lease; give each installation its own", "reroll-team-a")
    ] = "reroll"
    lease_duration: Annotated[
        timedelta, About(RUN, "how long a dead leader is waited for", "15s", SECOND)
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
            "address for /healthz and /readyz alone, so that those who ask for metrics do not stand before the kubelet; empty: none",
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
            "names and addresses by which the API server calls it (default: of its Service)",
            "reroll-webhook.reroll.svc",
        ),
    ] = Hosts(())
    webhook_client_ca: Annotated[
        str,
        About(
            RUN,
            "file with the authorities that sign the client certificate of the API server; empty: none is asked for",
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
        About(RUN, "least severe line to print", "debug"),
    ] = "info"
    grace: Annotated[
        timedelta, About(RUN, "longest time to finish what is under way when asked to stop", "10s")
    ] = timedelta(seconds=10)
    watch_silence: Annotated[
        timedelta, About(RUN, "a watch that was silent for so long is opened again", "2m", SECOND)
    ] = timedelta(seconds=100)

    tables: Tables = TABLES
    """The kinds of workloads and sources: no row of the table below, see `core.custom`."""


class Setting(NamedTuple):
    """One row of the table that `Settings` is."""

    name: str
    type: Any
    default: Any
    about: About

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def key(self) -> str:
        """Its name in a config file."""
        return self.name.replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def shown_default(self) -> str:
        match self.default:
            case timedelta():
                return format_duration(self.default)
            case bool():
                return str(self.default).lower()
            case tuple():
                return ",".join(self.default)
        return str(self.default)


def _table() -> tuple[Setting, ...]:
    hints = get_type_hints(Settings, include_extras=True)
    fields = msgspec.structs.fields(Settings)
    rows = []
    for field in fields:
        if not get_args(hints[field.name]):
            continue
        type_, about = get_args(hints[field.name])
        rows.append(Setting(field.name, type_, field.default, about))
    return tuple(rows)


SETTINGS: tuple[Setting, ...] = _table()
ROWS = ("kinds", "sources")
"""Keys of the config file that are no settings: rows for the tables of kinds."""
GROUPS: tuple[str, ...] = (SCOPE, ROLL, CLUSTER, RUN)
