{{- define "wafbot.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "wafbot.selector" -}}
app.kubernetes.io/name: wafbot
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: bot
{{- end }}

{{- define "wafbot.redisSelector" -}}
app.kubernetes.io/name: wafbot
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: redis
{{- end }}

{{- define "wafbot.common" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "wafbot.labels" -}}
{{ include "wafbot.selector" . }}
{{ include "wafbot.common" . }}
{{- end }}

{{- define "wafbot.redisLabels" -}}
{{ include "wafbot.redisSelector" . }}
{{ include "wafbot.common" . }}
{{- end }}

{{- /* The rights of every container here. */}}
{{- define "wafbot.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* The names of all Secrets that are mounted, each once, as a JSON list. */}}
{{- define "wafbot.secrets" -}}
{{- prepend .Values.secrets .Values.slack.secret.name | concat (list .Values.redis.secret.name) | compact | uniq | sortAlpha | toJson -}}
{{- end }}

{{- /* The configuration file. Helm reads "changes: on" as "true": YAML 1.1 has more words for true and false than wafbot's own YAML. */}}
{{- define "wafbot.config" -}}
{{- regexReplaceAll `(?m)^( *(?:- )?changes): false$` (regexReplaceAll `(?m)^( *(?:- )?changes): true$` (toYaml .Values.config) `${1}: "on"`) `${1}: "off"` -}}
{{- end }}
