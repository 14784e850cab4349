{{- /* Refuses values that fit the schema but not each other. */}}
{{- define "wafbot.check" -}}
{{- $slack := .Values.slack.secret -}}
{{- if not $slack.name }}
{{- fail "slack.secret.name: name the Secret that holds Slack's tokens; kubectl create secret generic wafbot-slack --from-file=bot-token --from-file=app-token makes one" }}
{{- else if not $slack.botToken }}
{{- fail "slack.secret.botToken: name the Secret's key that holds the bot's token (xoxb-…)" }}
{{- else if not (or $slack.appToken $slack.signingSecret) }}
{{- fail "slack.secret: set appToken (Socket Mode), signingSecret (HTTP), or both: otherwise no click comes in" }}
{{- end }}
{{- if and .Values.redis.bundled.enabled .Values.redis.secret.name }}
{{- fail "redis: set secret.name or bundled.enabled, not both" }}
{{- end }}
{{- if not (or .Values.redis.bundled.enabled .Values.redis.secret.name) }}
{{- fail "redis.secret.name: name the Secret that holds Redis' URL; to try wafbot set redis.bundled.enabled" }}
{{- end }}
{{- if not .Values.config.accounts }}
{{- fail "config.accounts: write at least one account, with name, api_url, token_file and channel" }}
{{- end }}
{{- if and .Values.ingress.enabled (not (or .Values.slack.secret.signingSecret .Values.ingress.pager)) }}
{{- fail "ingress.enabled: nothing would use it; set slack.secret.signingSecret (HTTP) or ingress.pager, or leave the Ingress out with Socket Mode" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host: write the host name that Slack sends its requests to" }}
{{- end }}
{{- if hasKey .Values.config "listen" }}
{{- fail "config.listen: remove it; the chart's Service and probes expect port 8080" }}
{{- end }}
{{- include "wafbot.noSecrets" (dict "at" "config" "value" .Values.config) }}
{{- end }}

{{- /* Refuses secrets in the configuration, which everyone who may read ConfigMaps can read. "at" is the path of "value". */}}
{{- define "wafbot.noSecrets" -}}
{{- $at := .at -}}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- if and (has $key (list "bot_token" "app_token" "signing_secret" "token" "password" "url" "secret")) (kindIs "string" $value) (not (hasPrefix "${" $value)) }}
{{- fail (printf "%s.%s: a ConfigMap is no place for a secret; put it in a Secret, add that to secrets, and write %s_file: /run/secrets/SECRET/KEY" $at $key $key) }}
{{- end }}
{{- include "wafbot.noSecrets" (dict "at" (printf "%s.%s" $at $key) "value" $value) }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range $i, $value := .value }}
{{- include "wafbot.noSecrets" (dict "at" (printf "%s[%d]" $at $i) "value" $value) }}
{{- end }}
{{- end }}
{{- end }}
