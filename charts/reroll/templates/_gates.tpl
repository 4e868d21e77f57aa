{{/* Where the controller goes for its gates. */}}

{{- define "reroll.gateUrls" -}}
{{- $urls := list -}}
{{- range .Values.settings.gates -}}
{{- range (list .prometheus .alertmanager .webhook | compact) -}}
{{- $urls = append $urls .url -}}
{{- end -}}
{{- end -}}
{{- $urls | uniq | toJson -}}
{{- end -}}
