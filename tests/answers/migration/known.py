"""Everything that Reloader 1.4.21 and Wave 0.11.0 can be told, as their sources list it."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


RELOADER_FLAGS = _names(
    """
    auto-reload-all configmap-annotation secret-annotation auto-annotation ignore-annotation
    configmap-auto-annotation secret-auto-annotation auto-search-annotation
    search-match-annotation pause-deployment-annotation pause-deployment-time-annotation
    log-format log-level webhook-url resources-to-ignore ignored-workload-types namespaces
    namespaces-to-ignore namespace-selector resource-label-selector is-Argo-Rollouts
    reload-strategy reload-on-create reload-on-delete enable-ha sync-after-restart enable-pprof
    pprof-addr enable-csi-integration
    """
)
RELOADER_VARIABLES = _names(
    """
    KUBERNETES_NAMESPACE POD_NAME POD_NAMESPACE RELOADER_NAMESPACE RELOADER_DEPLOYMENT_NAME
    METRICS_COUNT_BY_NAMESPACE ALERT_ON_RELOAD ALERT_SINK ALERT_WEBHOOK_URL ALERT_WEBHOOK_PROXY
    ALERT_ADDITIONAL_INFO KUBECONFIG
    """
)
WAVE_FLAGS = _names(
    """
    leader-election leader-election-id leader-election-namespace sync-period update-rate
    update-burst enable-webhooks namespaces version kubeconfig zap-devel zap-encoder
    zap-log-level zap-stacktrace-level zap-time-encoding
    """
)
RELOADER_VALUES = _names(
    """
    global.imageRegistry global.imagePullSecrets image.name image.repository image.tag
    image.digest image.pullPolicy nameOverride fullnameOverride kubernetes.host namespace
    reloader.autoReloadAll reloader.isArgoRollouts reloader.isOpenshift reloader.ignoreSecrets
    reloader.ignoreConfigMaps reloader.ignoreJobs reloader.ignoreCronJobs
    reloader.reloadOnCreate reloader.reloadOnDelete reloader.syncAfterRestart
    reloader.reloadStrategy reloader.ignoreNamespaces reloader.namespaceSelector
    reloader.resourceLabelSelector reloader.logFormat reloader.logLevel reloader.watchGlobally
    reloader.namespaces reloader.enableHA reloader.enablePProf reloader.pprofAddr
    reloader.enableCSIIntegration reloader.readOnlyRootFileSystem reloader.legacy.rbac
    reloader.matchLabels reloader.enableMetricsByNamespace reloader.webhookUrl
    reloader.custom_annotations.configmap reloader.custom_annotations.secret
    reloader.custom_annotations.auto reloader.custom_annotations.secret_auto
    reloader.custom_annotations.configmap_auto reloader.custom_annotations.search
    reloader.custom_annotations.match reloader.custom_annotations.ignore
    reloader.custom_annotations.pausePeriod reloader.custom_annotations.pauseTime
    reloader.deployment.replicas reloader.deployment.revisionHistoryLimit
    reloader.deployment.hostUsers reloader.deployment.nodeSelector reloader.deployment.affinity
    reloader.deployment.tolerations reloader.deployment.topologySpreadConstraints
    reloader.deployment.securityContext reloader.deployment.containerSecurityContext
    reloader.deployment.annotations reloader.deployment.labels reloader.deployment.env.open
    reloader.deployment.env.secret reloader.deployment.env.field
    reloader.deployment.env.existing reloader.deployment.livenessProbe
    reloader.deployment.readinessProbe reloader.deployment.resources
    reloader.deployment.pod.annotations reloader.deployment.priorityClassName
    reloader.deployment.runtimeClassName reloader.deployment.schedulerName
    reloader.deployment.dnsConfig reloader.deployment.volumes reloader.deployment.volumeMounts
    reloader.deployment.gomaxprocsOverride reloader.deployment.gomemlimitOverride
    reloader.deployment.automountServiceAccountToken reloader.service.labels
    reloader.service.annotations reloader.service.port reloader.service.ipFamilyPolicy
    reloader.service.ipFamilies reloader.rbac.enabled reloader.rbac.labels
    reloader.serviceAccount.create reloader.serviceAccount.labels
    reloader.serviceAccount.annotations reloader.serviceAccount.name
    reloader.serviceMonitor.enabled reloader.serviceMonitor.namespace
    reloader.serviceMonitor.interval reloader.serviceMonitor.scheme
    reloader.serviceMonitor.tlsConfig reloader.serviceMonitor.bearerTokenFile
    reloader.serviceMonitor.timeout reloader.serviceMonitor.labels
    reloader.serviceMonitor.annotations reloader.serviceMonitor.honorLabels
    reloader.serviceMonitor.metricRelabelings reloader.serviceMonitor.relabelings
    reloader.serviceMonitor.targetLabels reloader.podMonitor.bearerTokenSecret
    reloader.podMonitor.podTargetLabels reloader.podDisruptionBudget.enabled
    reloader.podDisruptionBudget.minAvailable reloader.podDisruptionBudget.maxUnavailable
    reloader.netpol.enabled reloader.netpol.from reloader.netpol.to
    reloader.verticalPodAutoscaler.enabled reloader.verticalPodAutoscaler.recommenders
    reloader.verticalPodAutoscaler.controlledResources
    reloader.verticalPodAutoscaler.controlledValues reloader.verticalPodAutoscaler.maxAllowed
    reloader.verticalPodAutoscaler.minAllowed reloader.verticalPodAutoscaler.updatePolicy
    """
)
WAVE_VALUES = _names(
    """
    global.imagePullSecrets global.rbac.enabled annotations image.name image.tag
    image.pullPolicy nodeSelector replicas pdb.enabled extraVolumes extraVolumeMounts
    securityContext serviceAccount.create serviceAccount.name webhooks.enabled syncPeriod
    updateRate updateBurst resources tolerations affinity topologySpreadConstraints
    podAnnotations podLabels
    """
)
