{{/* Where the controller goes for gates and notices, as rules of a NetworkPolicy. */}}

{{/* A URL, as scheme, hostname and port. */}}
{{- define "reroll.place" -}}
{{- $url := urlParse . -}}
{{- $port := regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (eq $url.scheme "https" | ternary "443" "80") -}}
{{- dict "scheme" $url.scheme "hostname" $url.hostname "port" (int $port) | toJson -}}
{{- end -}}

{{/* Where a receiver of notices is; an address that stands in a file may be anywhere. */}}
{{- define "reroll.noticePlace" -}}
{{- $receiver := keys .to | first -}}
{{- $to := get .to $receiver | default dict -}}
{{- $url := get $to "url" -}}
{{- if and (eq $receiver "slack") (get $to "token-file") }}{{ $url = get $to "api" | default "https://slack.com" }}{{ end -}}
{{- if eq $receiver "email" -}}
{{- dict "scheme" "smtp" "hostname" (get $to "host") "port" (get $to "port" | default 587 | int) | toJson -}}
{{- else if $url -}}
{{- include "reroll.place" $url -}}
{{- else -}}
{{- dict "scheme" "https" "hostname" "" "port" 443 | toJson -}}
{{- end -}}
{{- end -}}

{{- define "reroll.places" -}}
{{- $places := list -}}
{{- range include "reroll.gateUrls" . | fromJsonArray -}}
{{- $places = append $places (include "reroll.place" . | fromJson) -}}
{{- end -}}
{{- range index .Values.settings "notices" -}}
{{- $place := include "reroll.noticePlace" . | fromJson -}}
{{- $places = append $places (set $place "cidrs" (get $.Values.notices.cidrs .name | default list)) -}}
{{- end -}}
{{- $places | uniq | toJson -}}
{{- end -}}

{{/* A name in the cluster is a Service, whose ports may be others than those of its pods. */}}
{{- define "reroll.namedEgress" -}}
{{- $places := include "reroll.places" . | fromJsonArray -}}
{{- if $places }}
# Gates and notices: names are looked up, and then asked.
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end }}
{{- range $places }}
{{- $outside := false }}
{{- $short := regexMatch "^[a-z0-9-]+\\.[a-z0-9-]+$" .hostname }}
{{- if .cidrs }}
- to:
    {{- range .cidrs }}
    - ipBlock: {cidr: {{ . | quote }}}
    {{- end }}
  ports:
    - port: {{ int .port }}
{{- else if regexMatch "^[0-9]+(\\.[0-9]+){3}$|:" .hostname }}
- to:
    - ipBlock: {cidr: "{{ .hostname }}/{{ contains ":" .hostname | ternary 128 32 }}"}
  ports:
    - port: {{ int .port }}
{{- else if regexMatch "^[a-z0-9-]+$" .hostname }}
- to:
    - podSelector: {}
{{- else if or $short (regexMatch "^[a-z0-9-]+\\.[a-z0-9-]+\\.svc(\\..+)?$" .hostname) }}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ index (splitList "." .hostname) 1 | quote }}
{{- /* Or it is a domain, which plain HTTP is hardly used with. */}}
{{- $outside = and $short (ne .scheme "http") }}
{{- else }}
{{- $outside = true }}
{{- end }}
{{- if $outside }}
- to:
    {{- include "reroll.outside" . | nindent 4 }}
  ports:
    - port: {{ int .port }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Every address but those where a cloud gives credentials away. */}}
{{- define "reroll.outside" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except: [169.254.0.0/16, 100.100.100.200/32, 168.63.129.16/32, 192.0.0.192/32]
- ipBlock:
    cidr: ::/0
    except:
      - fe80::/10
      - fec0::/10
      - fd00:ec2::/32
      - fd00:100::100:200/128
      - fd20:ce::254/128
      - fd00:a9fe:a9fe::1/128
      - fd00:c1::a9fe:a9fe/128
      - fd00:42::42/128
{{- end -}}
