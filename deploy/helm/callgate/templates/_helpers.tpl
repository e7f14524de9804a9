{{- define "callgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "callgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 56 | trimSuffix "-" }}
{{- else -}}
{{- $name := include "callgate.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 56 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "callgate.selector" -}}
app.kubernetes.io/name: {{ include "callgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "callgate.labels" -}}
{{ include "callgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "callgate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end }}
{{- end }}
{{- end }}

{{- define "callgate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}{{ .Values.serviceAccount.name | default (include "callgate.fullname" .) }}{{- else -}}{{ .Values.serviceAccount.name | default "default" }}{{- end }}
{{- end }}

{{/* The configuration: what the chart decides over what the values say. */}}
{{- define "callgate.config" -}}
{{- range list "listen" "admin" "shutdown_timeout" "shutdown_delay" "reload" -}}
{{- if hasKey $.Values.config . }}{{ fail (printf "config.%s is the chart's: see service, admin, drainSeconds, delaySeconds and reload" .) }}{{ end -}}
{{- end -}}
{{- $store := dig "store" "kind" "memory" .Values.config -}}
{{- if and (eq $store "sqlite") (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) }}{{ fail "config.store.kind sqlite is for one machine: use postgres, or autoscaling.enabled=false with replicas=1" }}{{ end -}}
{{- $own := dict "listen" ":8080" "reload" (ternary "auto" "off" .Values.reload) "shutdown_timeout" (printf "%ds" (add .Values.drainSeconds .Values.delaySeconds)) "shutdown_delay" (printf "%ds" (int .Values.delaySeconds)) -}}
{{- $admin := dict "listen" (printf "127.0.0.1:%d" (int .Values.admin.port)) -}}
{{- if .Values.admin.expose -}}
{{- $admin = dict "listen" (printf ":%d" (int .Values.admin.port)) "key_hash" "${CALLGATE_ADMIN_KEY_HASH}" -}}
{{- end -}}
{{- toYaml (merge $own (dict "admin" $admin) .Values.config) }}
{{- end }}

{{/* GOMEMLIMIT in MiB out of a limit such as 1Gi. */}}
{{- define "callgate.gomemlimit" -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9]+(\\.[0-9]+)?" $text | float64 -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- $sizes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if not (hasKey $sizes $unit) }}{{ fail (printf "resources.limits.memory %s is no size such as 1Gi" $text) }}{{ end -}}
{{- mulf $number (get $sizes $unit) }}
{{- end }}
