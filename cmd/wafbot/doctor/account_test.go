package doctor_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestDoctorNamesApplicationsThatHaveNoName(t *testing.T) {
	t.Parallel()
	e := newPatient(t, strings.ReplaceAll(healthy, "{4: Shop, 7: Legacy}", "{4: {can_block: false}}")).examine(t)
	requireOne(t, e.of(doctor.Note), "account acme: applications without a name, with their attacks of the last 24 h: 4 (1)")
}

func TestDoctorChecksTheTokensOwnerAndTheClock(t *testing.T) {
	t.Parallel()
	world := openWorld(t)
	later := changing(t, world.Accounts()[0].APIURL, func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		text, err := io.ReadAll(r.Body)
		if r.Request.Header.Get("X-ServiceApi-Token") == "sandbox-token-globex" {
			text = bytes.Replace(text, []byte(`"enabled":true`), []byte(`"enabled":   0`), 1) // of the same length
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		return err
	})
	path := write(t, `accounts:
  - {name: acme, api_url: "`+later+`", token: sandbox-token-acme, channel: C0WAF0001}
  - {name: globex, api_url: "`+later+`", token: sandbox-token-globex, channel: C0WAF0002}
`)
	d := patient{World: world}
	for _, variable := range world.Env() {
		if !strings.HasPrefix(variable, "WAFBOT_API_") && !strings.HasPrefix(variable, "WAFBOT_CHANNEL") {
			d.environ = append(d.environ, variable)
		}
	}
	e := d.examineWith(t, doctor.Options{Config: path})
	require.Len(t, e.of(doctor.Wrong), 1)
	requireOne(t, e.of(doctor.Wrong), "account globex: the token's user is disabled, at client 9 Globex", "enable the user")
	requireOne(t, e.of(doctor.OK), "account acme: the token is of client 5 Acme")
	requireOne(t, e.of(doctor.Warn), "account acme: its clock is off this machine's by", "NTP")
	requireOne(t, e.of(doctor.Warn), "account globex: its clock is off")
}

func TestDoctorWarnsOfASlowService(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	require.NoError(t, d.WAF.SetFault(waf.Fault{Endpoint: "GET /v4/ip_rules", Kind: "slow"}))
	e := d.examine(t)
	require.True(t, e.OK)
	requireOne(t, e.of(doctor.Warn), "account acme (GET /v4/ip_rules): slow: an answer took 3")
}
