{{/* What is wrong only in company, and no schema can say. */}}
{{- define "reroll.checks" -}}
{{- $settings := include "reroll.settings" . | fromYaml -}}
{{- with .Values.reloader }}
{{- fail "`reloader:` is for the chart of Reloader; `helm get values RELEASE | reroll migrate flags --values - --chart` prints the values for this chart" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not (dig "leader-election" true $settings)) }}
{{- fail "`replicas` is above 1 and `settings.leader-election` is false: each would roll every change; use one replica, or elect a leader" }}
{{- end }}
{{- $notices := list }}
{{- range index $settings "notices" }}{{ $notices = append $notices .name }}{{ end }}
{{- range $name, $_ := .Values.notices.cidrs }}
{{- if not (has $name $notices) }}
{{- fail (printf "`notices.cidrs` names %q, and no row of `settings.notices` is called that" $name) }}
{{- end }}
{{- end }}
{{- if and (index $settings "namespaces") (index $settings "namespace-selector") }}
{{- fail "`settings.namespace-selector` needs to see all namespaces and `settings.namespaces` does not; use one" }}
{{- end }}
{{- if and (index $settings "namespaces") (has (include "reroll.pins" .) (list "policy" "webhook")) }}
{{- fail "`pins.mode` policy and webhook are for a whole cluster and `settings.namespaces` is not; use `template`" }}
{{- end }}
{{- if and (eq (include "reroll.pins" .) "policy") (not (include "reroll.policyVersion" .)) }}
{{- fail "`pins.mode` is policy, and this cluster serves no MutatingAdmissionPolicy that can do it (Kubernetes 1.36; 1.35 with the v1beta1 API and the feature gate on); use `webhook` or `template`" }}
{{- end }}
{{- if and (not (include "reroll.port" .)) (or .Values.serviceMonitor.enabled .Values.podMonitor.enabled) }}
{{- fail "`settings.listen` is empty, so there are no metrics to ask for; turn `serviceMonitor` and `podMonitor` off, or listen" }}
{{- end }}
{{- if and (include "reroll.port" .) (eq (include "reroll.port" .) (get $settings "probes" | regexFind "[0-9]+$")) }}
{{- fail "`settings.listen` and `settings.probes` have the same port; use another for one of them, or set `settings.probes` to \"\" to have probes answered where metrics are" }}
{{- end }}
{{- if and .Values.pins.webhookClientCA (not (contains "BEGIN CERTIFICATE" .Values.pins.webhookClientCA)) }}
{{- fail "`pins.webhookClientCA` holds no certificate in PEM; use the text of the file, e.g. with --set-file" }}
{{- end }}
{{- if and .Values.dashboard.enabled (not .Values.dashboard.auth) }}
{{- fail "`dashboard.enabled` runs the dashboard, and `dashboard.auth` has to say whose rights a page has: token, proxy or none; the dashboard of metrics for Grafana is `grafanaDashboard.enabled`" }}
{{- end }}
{{- if and .Values.dashboard.enabled (eq .Values.dashboard.auth "proxy") (not .Values.dashboard.proxy.from) }}
{{- fail "`dashboard.auth` is proxy, which believes headers: say from which addresses with `dashboard.proxy.from`" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.service.enabled) }}
{{- fail "`serviceMonitor` finds the Service, and `service.enabled` is false; use `podMonitor`" }}
{{- end }}
{{- end -}}
