{{/* Names and labels. */}}

{{- define "reroll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "reroll.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "reroll.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Names of objects that no namespace has: two releases of one name may be in two namespaces. */}}
{{- define "reroll.clusterName" -}}
{{- printf "%s-%s" (include "reroll.fullname" .) .Release.Namespace | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Of the controller's own pods: the pod of `helm test` has others. */}}
{{- define "reroll.selectorLabels" -}}
app.kubernetes.io/name: {{ include "reroll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "reroll.labels" -}}
app.kubernetes.io/name: {{ include "reroll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "reroll.metadata" -}}
name: {{ include "reroll.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "reroll.labels" . | nindent 2 }}
{{- end -}}

{{- define "reroll.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "reroll.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "reroll.image" -}}
{{- $registry := default .Values.image.registry (.Values.global).imageRegistry -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "reroll.imagePullSecrets" -}}
{{- $all := concat .Values.imagePullSecrets (default list (.Values.global).imagePullSecrets) -}}
{{- with $all -}}
imagePullSecrets:
{{- range . }}
  - {{ if kindIs "map" . }}{{ toJson . }}{{ else }}{{ dict "name" . | toJson }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "reroll.dashboardName" -}}
{{ include "reroll.fullname" . }}-dashboard
{{- end -}}

{{/* Of the dashboard's own pods. */}}
{{- define "reroll.dashboardLabels" -}}
app.kubernetes.io/name: {{ include "reroll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: dashboard
{{- end -}}

{{- define "reroll.dashboardMetadata" -}}
name: {{ include "reroll.dashboardName" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "reroll.labels" . | nindent 2 }}
  app.kubernetes.io/component: dashboard
{{- end -}}

{{/* The settings of the controller: those that the chart gives, and over them those of the user. */}}
{{- define "reroll.settings" -}}
{{- $name := include "reroll.fullname" . -}}
{{- $own := dict "lease" $name "digest-key" (printf "%s-digest-key" $name) "log-format" "json" "probes" ":8081" -}}
{{- $on := list -}}
{{- range $feature, $is := omit .Values.features "injections" }}{{ if $is }}{{ $on = append $on $feature }}{{ end }}{{ end -}}
{{- $_ := set $own "features" $on -}}
{{- $_ := set $own "dialects" (concat (list "reroll") (include "reroll.dialects" . | fromJsonArray)) -}}
{{- if .Values.features.injections }}{{ $_ := set $own "injections" true }}{{ end -}}
{{- $mode := include "reroll.pins" . -}}
{{- if eq $mode "template" }}{{ $_ := set $own "pins" "template" }}{{ end -}}
{{- if eq $mode "webhook" -}}
{{- $_ := set $own "webhook" (printf ":%d" (int .Values.pins.webhookPort)) -}}
{{- $_ := set $own "webhook-names" (list (printf "%s-webhook.%s.svc" $name .Release.Namespace)) -}}
{{- $_ := set $own "webhook-configuration" (printf "%s-pins" (include "reroll.clusterName" .)) -}}
{{- if .Values.pins.webhookClientCA }}{{ $_ := set $own "webhook-client-ca" "/etc/reroll/client-ca.crt" }}{{ end -}}
{{- end -}}
{{- range $setting, $value := .Values.settings }}{{ $_ := set $own $setting $value }}{{ end -}}
{{- $own | toYaml -}}
{{- end -}}

{{/* The other tools whose annotations are read. */}}
{{- define "reroll.dialects" -}}
{{- $on := list -}}
{{- range $tool, $is := .Values.dialects }}{{ if $is }}{{ $on = append $on $tool }}{{ end }}{{ end -}}
{{- $on | toJson -}}
{{- end -}}

{{/* Who rewrites pods of pinned templates; nobody without revisions. A policy of the beta may be served and not heeded:
that is up to a feature gate, which nobody can ask for, so it has to be chosen. */}}
{{- define "reroll.pins" -}}
{{- $mode := .Values.pins.mode -}}
{{- if not .Values.features.revisions -}}
{{- else if ne $mode "auto" -}}
{{- $mode -}}
{{- else if index .Values.settings "namespaces" -}}
template
{{- else if eq (include "reroll.policyVersion" .) "v1" -}}
policy
{{- else -}}
webhook
{{- end -}}
{{- end -}}

{{/* The version of MutatingAdmissionPolicies that is served; empty if there is none, or none with `flatten`. */}}
{{- define "reroll.policyVersion" -}}
{{- $api := "admissionregistration.k8s.io" -}}
{{- if or (.Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $api)) (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) -}}
v1
{{- else if and (.Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $api)) (semverCompare ">=1.35.0-0" .Capabilities.KubeVersion.Version) -}}
v1beta1
{{- end -}}
{{- end -}}

{{/* The port of metrics; empty if it does not listen. */}}
{{- define "reroll.port" -}}
{{- $settings := include "reroll.settings" . | fromYaml -}}
{{- hasKey $settings "listen" | ternary (get $settings "listen") ":8080" | regexFind "[0-9]+$" -}}
{{- end -}}

{{/* The name of the port of the probes: their own, or that of metrics; empty if there is none. */}}
{{- define "reroll.probes" -}}
{{- $settings := include "reroll.settings" . | fromYaml -}}
{{- if get $settings "probes" }}probes{{ else if include "reroll.port" . }}http{{ end -}}
{{- end -}}

{{/* Which namespaces it looks at, in words. */}}
{{- define "reroll.scope" -}}
{{- with index .Values.settings "namespaces" -}}
{{- join ", " . -}}
{{- else -}}
{{- with index .Values.settings "namespace-selector" }}the namespaces with the labels {{ . }}{{ else }}the whole cluster{{ end -}}
{{- with index .Values.settings "exclude-namespaces" }}, except {{ join ", " . }}{{ end -}}
{{- end -}}
{{- end -}}
