package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
)

// However an account is logged, by itself or within something else, none of its secrets is shown: not as text, and
// neither quoted nor as hex digits.
func TestNoSecretOfAnAccountIsShown(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	a := config.Default[config.Account]()
	a.Name, a.Token = "acme", secret
	a.Routes = []config.Route{{Page: &config.Page{Name: "phone", URL: secret, WebhookSecret: secret}}}
	within := struct {
		Account *config.Account
		Page    config.Page
		All     map[string]config.Account
		Config  *config.Config
	}{&a, *a.Routes[0].Page, map[string]config.Account{"acme": a}, &config.Config{Accounts: []config.Account{a}}}
	said := map[string]string{}
	for _, value := range []any{a, &a, within, []config.Account{a}, a.Token, &a.Token, *a.Routes[0].Page, a.Routes[0].Page} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%10.3s", "%t"} {
			said[fmt.Sprintf("%s of %T", verb, value)] = fmt.Sprintf(verb, value)
		}
		said[fmt.Sprintf("print of %T", value)] = fmt.Sprint(value)
		data, err := json.Marshal(value)
		require.NoError(t, err)
		said[fmt.Sprintf("JSON of %T", value)] = string(data)
		var out bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).With("with", value).Info("logged", "value", value, slog.Group("group", "value", value))
		}
		said[fmt.Sprintf("log of %T", value)] = out.String()
	}
	for how, text := range said {
		for _, shown := range []string{secret, "733363723374", "73 33 63", "s3c", "115 51 99"} {
			require.NotContains(t, text, shown, how)
		}
	}
	require.Contains(t, said["%+v of config.Account"], "Token:[redacted]", "it is seen that there is one")
	require.Contains(t, said["JSON of config.Account"], `"Token":"[redacted]"`)
}
