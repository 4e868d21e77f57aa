"""Every flag, environment variable and chart value of Reloader 1.4.21, and what becomes of it."""

from reroll.answers.migration import alerts
from reroll.answers.migration.rows import (
    Fate,
    Row,
    Takes,
    Value,
    becomes,
    carried,
    each_of,
    literally_true,
    missing,
    one_of,
    only_true,
    selector,
    unneeded,
    words,
)

_LEVELS = one_of(
    trace="debug", debug="debug", info="info", warn="warning", warning="warning", error="error",
    fatal="error", panic="error",
)  # fmt: skip


def _renamed(flag: str, key: str) -> Row:
    """A flag that gives an annotation another name."""

    def turn(text: str) -> list[str] | None:
        return None if text == key else [f"{key}={text}"]

    return becomes(flag, "annotation-names", "", Takes.TEXT, turn)


FLAGS: tuple[Row, ...] = (
    becomes("--auto-reload-all", "auto-all", "", Takes.SWITCH, only_true),
    _renamed("--configmap-annotation", "configmap.reloader.stakater.com/reload"),
    _renamed("--secret-annotation", "secret.reloader.stakater.com/reload"),
    _renamed("--auto-annotation", "reloader.stakater.com/auto"),
    _renamed("--ignore-annotation", "reloader.stakater.com/ignore"),
    _renamed("--configmap-auto-annotation", "configmap.reloader.stakater.com/auto"),
    _renamed("--secret-auto-annotation", "secret.reloader.stakater.com/auto"),
    _renamed("--auto-search-annotation", "reloader.stakater.com/search"),
    _renamed("--search-match-annotation", "reloader.stakater.com/match"),
    _renamed("--pause-deployment-annotation", "deployment.reloader.stakater.com/pause-period"),
    _renamed("--pause-deployment-time-annotation", "deployment.reloader.stakater.com/paused-at"),
    becomes("--log-format", "log-format", "without it: text in a terminal, JSON elsewhere", turn=one_of(json="json", **{"": None})),
    becomes("--log-level", "log-level", "", turn=_LEVELS),
    alerts.WEBHOOK,
    becomes("--resources-to-ignore", "exclude-sources", "", Takes.LIST, each_of(configmaps="ConfigMap", secrets="Secret")),
    becomes("--ignored-workload-types", "exclude-kinds", "", Takes.LIST, each_of(jobs="Job", cronjobs="CronJob")),
    becomes("--namespaces", "namespaces", "", Takes.LIST, words),
    becomes("--namespaces-to-ignore", "exclude-namespaces", "globs are possible", Takes.LIST, words),
    becomes("--namespace-selector", "namespace-selector", "", Takes.LIST, selector),
    becomes("--resource-label-selector", "source-selector", "", Takes.LIST, selector),
    unneeded("--is-Argo-Rollouts", "Argo Rollouts are handled wherever their API is served; `exclude-kinds: [Rollout]` leaves them alone"),
    becomes("--reload-strategy", "reloader-strategy", "", turn=one_of(env_vars="env-vars", annotations="annotations", default=None, **{"": None})),
    becomes("--reload-on-create", "reload-on-create", "", turn=literally_true),
    becomes("--reload-on-delete", "reload-on-delete", "", turn=literally_true),
    unneeded("--enable-ha", "a leader is always elected, so several replicas can run", Takes.SWITCH),
    unneeded("--sync-after-restart", "a change made while the controller was down is always found", Takes.SWITCH),
    missing("--enable-pprof", "there is no profiling endpoint", Takes.SWITCH),
    missing("--pprof-addr", "there is no profiling endpoint"),
    unneeded("--enable-csi-integration", "SecretProviderClasses are followed wherever their API is served", Takes.SWITCH),
)  # fmt: skip

VARIABLES: tuple[Row, ...] = (
    becomes("KUBERNETES_NAMESPACE", "namespaces", "--namespaces comes before it", turn=words),
    unneeded("POD_NAME", "the host's name is used where it is not set"),
    unneeded("POD_NAMESPACE", "the namespace of the pod's service account is used"),
    unneeded("RELOADER_NAMESPACE", "no ConfigMap with information about itself is written"),
    unneeded("RELOADER_DEPLOYMENT_NAME", "no ConfigMap with information about itself is written"),
    missing("METRICS_COUNT_BY_NAMESPACE", "metrics are not counted by namespace"),
    *alerts.ALERTS,
    becomes("KUBECONFIG", "kubeconfig", "the variable is read too"),
)  # fmt: skip

_POD = "about Reloader's own pod; Reroll's chart has what it needs"
_OBJECTS = "about the objects around Reloader's pod; Reroll's chart has its own"
_SAME = (
    "enabled",
    "interval",
    "labels",
    "annotations",
    "honorLabels",
    "metricRelabelings",
    "relabelings",
)

VALUES: tuple[Value, ...] = (
    Value("reloader.autoReloadAll", "--auto-reload-all"),
    Value("reloader.isArgoRollouts", "--is-Argo-Rollouts"),
    Value("reloader.isOpenshift", word="it only adds rights on DeploymentConfigs, which Reloader itself no longer handles"),
    Value("reloader.ignoreSecrets", "--resources-to-ignore", "secrets"),
    Value("reloader.ignoreConfigMaps", "--resources-to-ignore", "configMaps"),
    Value("reloader.ignoreJobs", "--ignored-workload-types", "jobs"),
    Value("reloader.ignoreCronJobs", "--ignored-workload-types", "cronjobs"),
    Value("reloader.reloadOnCreate", "--reload-on-create"),
    Value("reloader.reloadOnDelete", "--reload-on-delete"),
    Value("reloader.syncAfterRestart", "--sync-after-restart"),
    Value("reloader.reloadStrategy", "--reload-strategy"),
    Value("reloader.ignoreNamespaces", "--namespaces-to-ignore"),
    Value("reloader.namespaceSelector", "--namespace-selector"),
    Value("reloader.resourceLabelSelector", "--resource-label-selector"),
    Value("reloader.logFormat", "--log-format"),
    Value("reloader.logLevel", "--log-level"),
    Value("reloader.watchGlobally", fate=Fate.DECIDE, word="with `false` Reloader watches only the namespace it is installed in, and Reroll looks at the whole cluster unless `namespaces` names that one"),
    Value("reloader.namespaces", "--namespaces"),
    Value("reloader.enableHA", "--enable-ha"),
    Value("reloader.enablePProf", "--enable-pprof"),
    Value("reloader.pprofAddr", "--pprof-addr"),
    Value("reloader.enableCSIIntegration", "--enable-csi-integration"),
    Value("reloader.readOnlyRootFileSystem", word=_POD),
    Value("reloader.legacy.rbac", word=_OBJECTS),
    Value("reloader.matchLabels", word=_POD),
    Value("reloader.enableMetricsByNamespace", "METRICS_COUNT_BY_NAMESPACE", "enabled"),
    Value("reloader.webhookUrl", "--webhook-url", private=True),
    Value("reloader.custom_annotations.configmap", "--configmap-annotation"),
    Value("reloader.custom_annotations.secret", "--secret-annotation"),
    Value("reloader.custom_annotations.auto", "--auto-annotation"),
    Value("reloader.custom_annotations.secret_auto", "--secret-auto-annotation"),
    Value("reloader.custom_annotations.configmap_auto", "--configmap-auto-annotation"),
    Value("reloader.custom_annotations.search", "--auto-search-annotation"),
    Value("reloader.custom_annotations.match", "--search-match-annotation"),
    Value("reloader.custom_annotations.ignore", "--ignore-annotation"),
    Value("reloader.custom_annotations.pausePeriod", "--pause-deployment-annotation"),
    Value("reloader.custom_annotations.pauseTime", "--pause-deployment-time-annotation"),
    *(
        Value(f"reloader.deployment.env.{how}.{row.name}", row.name, private=row.private or how != "open")
        for how in ("open", "secret", "field", "existing")
        for row in VARIABLES
    ),
    *(
        carried(f"reloader.deployment.{name}", name)
        for name in (
            "replicas", "revisionHistoryLimit", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints",
            "annotations", "livenessProbe", "readinessProbe", "priorityClassName", "runtimeClassName", "schedulerName",
            "dnsConfig",
        )
    ),
    carried("reloader.deployment.securityContext", "podSecurityContext"),
    carried("reloader.deployment.containerSecurityContext", "securityContext"),
    carried("reloader.deployment.labels", "podLabels"),
    carried("reloader.deployment.pod.annotations", "podAnnotations"),
    carried("reloader.deployment.volumes", "extraVolumes"),
    carried("reloader.deployment.volumeMounts", "extraVolumeMounts"),
    Value("reloader.deployment.resources", word="Reroll needs less, and its chart asks for what was measured"),
    Value("reloader.deployment", word=_POD),
    *(carried(f"reloader.service.{name}", f"service.{name}") for name in ("labels", "annotations", "port", "ipFamilyPolicy")),
    Value("reloader.service", word=_OBJECTS),
    carried("reloader.rbac.enabled", "rbac.create"),
    Value("reloader.rbac", word=_OBJECTS),
    *(carried(f"reloader.serviceAccount.{name}", f"serviceAccount.{name}") for name in ("create", "annotations")),
    Value("reloader.serviceAccount", word=_OBJECTS),
    *(carried(f"reloader.{kind}.{name}", f"{kind}.{name}") for kind in ("serviceMonitor", "podMonitor") for name in _SAME),
    Value("reloader.serviceMonitor", word=_OBJECTS),
    Value("reloader.podMonitor", word=_OBJECTS),
    *(carried(f"reloader.podDisruptionBudget.{name}", f"podDisruptionBudget.{name}") for name in ("enabled", "maxUnavailable")),
    Value("reloader.podDisruptionBudget", word=_OBJECTS),
    carried("reloader.netpol.enabled", "networkPolicy.enabled"),
    carried("reloader.netpol.from", "networkPolicy.from"),
    Value("reloader.netpol", word=_OBJECTS),
    Value("reloader.verticalPodAutoscaler", fate=Fate.MISSING, word="its memory does not grow with the cluster"),
    carried("global.imageRegistry", "global.imageRegistry"),
    carried("global.imagePullSecrets", "global.imagePullSecrets"),
    Value("global", word=_POD),
    Value("image", word=_POD),
    Value("nameOverride", word=_OBJECTS),
    Value("fullnameOverride", word=_OBJECTS),
    Value("kubernetes", word=_OBJECTS),
    Value("namespace", word=_OBJECTS),
)  # fmt: skip
