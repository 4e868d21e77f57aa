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
