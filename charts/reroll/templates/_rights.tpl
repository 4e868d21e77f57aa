{{/*
The rules of a role, from files/rights.yaml, which is made from the program's own table.

reroll.rules (dict "root" $ "places" (list "watched"))
*/}}
{{- define "reroll.rules" -}}
{{- $root := .root -}}
{{- $places := .places -}}
{{- $settings := include "reroll.settings" $root | fromYaml -}}
{{- $on := list "rolling" -}}
{{- if dig "leader-election" true $settings }}{{ $on = append $on "leader-election" }}{{ end -}}
{{- if eq (include "reroll.pins" $root) "webhook" }}{{ $on = append $on "webhook" }}{{ end -}}
{{- range $name, $is := $root.Values.features }}{{ if $is }}{{ $on = append $on $name }}{{ end }}{{ end -}}
{{- range $settings.gates }}{{ if or .analysisTemplate .clusterAnalysisTemplate }}{{ $on = append $on "analysis" }}{{ end }}{{ end -}}
{{- $without := list -}}
{{- range concat (default list (index $settings "exclude-kinds")) (default list (index $settings "exclude-sources")) -}}
{{- $without = append $without (lower .) -}}
{{- end -}}
{{- $verbs := dict -}}
{{- $rules := list -}}
{{- $rows := ($root.Files.Get "files/rights.yaml" | fromYaml).rights -}}
{{- range concat $rows (include "reroll.customRights" $settings | fromYamlArray) -}}
{{- if and (has .place $places) (has .feature $on) (not (has (lower (default "" .kind)) $without)) -}}
{{- $name := default "" .name -}}
{{- range $setting, $value := $settings -}}
{{- if kindIs "string" $value }}{{ $name = replace (printf "{%s}" (replace "-" "_" $setting)) $value $name }}{{ end -}}
{{- end -}}
{{- $key := printf "%s/%s/%s" .group .resource $name -}}
{{- if not (hasKey $verbs $key) }}{{ $rules = append $rules (dict "key" $key "group" .group "resource" .resource "name" $name) }}{{ end -}}
{{- $_ := set $verbs $key (concat (default list (get $verbs $key)) .verbs | uniq) -}}
{{- end -}}
{{- end -}}
{{- range $rules }}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ .resource | quote }}]
  {{- with .name }}
  resourceNames: [{{ . | quote }}]
  {{- end }}
  verbs: {{ get $verbs .key | toJson }}
{{- end }}
{{- end -}}

{{/*
The rules of the dashboard's own role, from files/dashboard-rights.yaml.

reroll.dashboardRules (dict "root" $ "places" (list "watched"))
*/}}
{{- define "reroll.dashboardRules" -}}
{{- $root := .root -}}
{{- $places := .places -}}
{{- $settings := include "reroll.settings" $root | fromYaml -}}
{{- $dashboard := $root.Values.dashboard -}}
{{- $rows := ($root.Files.Get "files/dashboard-rights.yaml" | fromYaml).rights -}}
{{- if eq $dashboard.auth "none" -}}
{{- range include "reroll.customRights" $settings | fromYamlArray -}}
{{- if eq .feature "rolling" }}{{ $rows = append $rows (merge (dict "auths" (list "none") "verbs" (without .verbs "watch" "patch")) .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $without := list -}}
{{- range concat (default list (index $settings "exclude-kinds")) (default list (index $settings "exclude-sources")) -}}
{{- $without = append $without (lower .) -}}
{{- end -}}
{{- $seen := dict -}}
{{- range $rows -}}
{{- $needless := and (eq .resource "namespaces") (index $settings "namespaces") -}}
{{- if and (has .place $places) (has $dashboard.auth .auths) (not (has (lower (default "" .kind)) $without)) (not $needless) -}}
{{- $names := list -}}
{{- with .name }}{{ $names = list (. | replace "{digest_key}" (get $settings "digest-key") | replace "{lease}" (get $settings "lease")) }}{{ end -}}
{{- if eq .resource "users" }}{{ $names = $dashboard.proxy.users }}{{ else if eq .resource "groups" }}{{ $names = $dashboard.proxy.groups }}{{ end -}}
{{- $key := printf "%s/%s/%s/%s" .group .resource (join "," $names) (join "," .verbs) -}}
{{- if not (hasKey $seen $key) }}
{{- $_ := set $seen $key true }}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ .resource | quote }}]
  {{- with $names }}
  resourceNames: {{ . | toJson }}
  {{- end }}
  verbs: {{ .verbs | toJson }}
{{- end -}}
{{- end -}}
{{- end }}
{{- end -}}

{{/* The rows for kinds of workloads and sources that the settings add. */}}
{{- define "reroll.customRights" -}}
{{- $rows := list -}}
{{- $row := dict "feature" "rolling" "place" "watched" -}}
{{- range .sources -}}
{{- $rows = append $rows (merge (dict "group" .group "resource" .resource "verbs" (list "get" "list" "watch")) $row) -}}
{{- end -}}
{{- range $kind := .kinds -}}
{{- $group := default "" $kind.group -}}
{{- $rows = append $rows (merge (dict "group" $group "resource" $kind.resource "verbs" (list "get" "list" "watch" "patch")) $row) -}}
{{- with $kind.revisions }}{{ $rows = append $rows (merge (dict "group" "apps" "resource" . "verbs" (list "list")) $row) }}{{ end -}}
{{- range $feature := list "evict" "reload" -}}
{{- if and (or $kind.template $kind.pods) (or (not $kind.strategies) (has $feature $kind.strategies)) -}}
{{- $pods := dict "feature" $feature "place" "watched" "group" "" -}}
{{- $rows = append $rows (merge (dict "resource" "pods" "verbs" (list "list")) $pods) -}}
{{- if eq $feature "evict" }}{{ $rows = append $rows (merge (dict "resource" "pods/eviction" "verbs" (list "create")) $pods) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $rows -}}
{{- end -}}
