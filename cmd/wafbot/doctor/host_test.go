package doctor_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
)

// The host that Slack names for links is reached, too: refused, silent or unknown it is wrong, with every host that
// must be reachable.
func TestDoctorReachesTheHostOfLinks(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing of TLS
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	for host, words := range map[string]string{
		silent.Addr().String(): "gave no answer in time",
		gone.Addr().String():   "nothing listens at",
		"links.invalid":        "the host links.invalid can't be found",
	} {
		d := newPatient(t, "")
		named, err := url.Parse(d.URL())
		require.NoError(t, err)
		d = d.with("WAFBOT_SLACK_API_URL=" + changing(t, d.URL()+"/slack/api/", func(res *http.Response) error {
			if !strings.HasSuffix(res.Request.URL.Path, "/apps.connections.open") {
				return nil
			}
			text, err := io.ReadAll(res.Body)
			text = bytes.Replace(text, []byte("ws://"+named.Host), []byte("wss://"+host), 1)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			res.Header.Del("Content-Length")
			return err
		}))
		e := d.examineWith(t, doctor.Options{Patience: time.Second})
		require.False(t, e.OK)
		requireOne(t, e.of(doctor.Wrong), "host "+host, words, "reach every host: ", host)
		requireOne(t, e.of(doctor.Note), "must be reachable: ")
		require.NotContains(t, printed(t, e), "ticket")
	}
}
