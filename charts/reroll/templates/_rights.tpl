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
{{- range $name, $is := $root.Values.features }}{{ if $is }}{{ $on = append $on $name }}{{ end }}{{ end -}}
{{- $without := list -}}
{{- range concat (default list (index $settings "exclude-kinds")) (default list (index $settings "exclude-sources")) -}}
{{- $without = append $without (lower .) -}}
{{- end -}}
{{- $verbs := dict -}}
{{- $rules := list -}}
{{- range ($root.Files.Get "files/rights.yaml" | fromYaml).rights -}}
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
