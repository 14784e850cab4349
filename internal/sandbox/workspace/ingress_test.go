package workspace_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// answering is a bot over HTTP that answers each request with the next of those statuses, and records when each came.
func answering(came *chan *http.Request, statuses ...int) func(*workspace.Config) {
	return func(cfg *workspace.Config) {
		*came = make(chan *http.Request, 99) // within the bubble
		cfg.Deliver = "http://bot.test"
		cfg.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			status := statuses[0]
			if len(statuses) > 1 {
				statuses = statuses[1:]
			}
			*came <- r
			header := http.Header{}
			if status == http.StatusGone {
				header.Set("X-Slack-No-Retry", "1")
			}
			return &http.Response{StatusCode: status, Header: header, Body: http.NoBody}, nil
		})}
	}
}

func TestTheWayOfDeliveries(t *testing.T) {
	var requests chan *http.Request
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		go func() {
			for f := range s.frames {
				if f.err != nil {
					return
				}
				_ = s.conn.WriteMessage(1, []byte(`{"envelope_id":"`+f.EnvelopeID+`"}`))
			}
		}()
		const request, link = workspace.IngressHTTP, workspace.IngressSocket
		for _, step := range []struct {
			way  workspace.Ingress
			want []workspace.Ingress
		}{
			{workspace.IngressAuto, []workspace.Ingress{request, request}},
			{request, []workspace.Ingress{request, request}},
			{link, []workspace.Ingress{link, link}},
			{workspace.IngressEither, []workspace.Ingress{link, request, link, request}},
		} {
			require.NoError(b.t, b.SetIngress(step.way))
			require.Equal(b.t, step.way, b.Ingress())
			for _, want := range step.want {
				d := <-b.command("status")
				require.Equal(b.t, want, d.Via, "%q", step.way)
				require.True(b.t, d.Acked)
				require.Nil(b.t, d.Twin)
			}
		}
		require.NoError(b.t, b.SetIngress(workspace.IngressBoth))
		d := <-b.command("status")
		require.Equal(b.t, []any{request, true, link, true}, []any{d.Via, d.Acked, d.Twin.Via, d.Twin.Acked})
		require.Equal(b.t, d.Payload, d.Twin.Payload)

		b.DeliverTo("")
		require.NoError(b.t, b.SetIngress(workspace.IngressEither))
		for range 2 {
			require.Equal(b.t, link, (<-b.command("status")).Via, "the only one there is")
		}
		require.NoError(b.t, b.SetIngress(workspace.IngressAuto))
		require.Equal(b.t, link, (<-b.command("status")).Via)
		require.ErrorContains(b.t, b.SetIngress("pigeon"), "pigeon")
		require.NoError(b.t, s.conn.Close())
		require.Len(b.t, requests, 7)
	}, answering(&requests, 200))
}
