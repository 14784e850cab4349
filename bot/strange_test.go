package bot

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// handedPiece is work in a stream that hands it over once.
type handedPiece struct {
	work []byte
	done chan struct{}
}

func (p *handedPiece) Work(ctx context.Context, handle func(Piece)) error {
	handle(onlyPiece{p})
	<-ctx.Done()
	return ctx.Err()
}

type onlyPiece struct{ *handedPiece }

func (p onlyPiece) Work() []byte               { return p.work }
func (onlyPiece) Mine(context.Context) bool    { return true }
func (onlyPiece) Pass(context.Context) error   { return nil }
func (p onlyPiece) Done(context.Context) error { close(p.done); return nil }

// didInWorkspace notes whose line is carried out.
type didInWorkspace struct {
	noRunner
	did chan string
}

func (d didInWorkspace) Do(_ context.Context, inv call.Invocation) (call.Result, error) {
	d.did <- inv.Line.Name
	return call.Result{}, nil
}

// A stored request is carried out by the bot of its workspace. One of a workspace that isn't configured here is left for a minute to whom it is, and then given up.
func TestStoredRequestsAreOfTheirWorkspace(t *testing.T) {
	t.Parallel()
	at := func(workspace string) *handedPiece {
		work, err := json.Marshal(request{
			Version: workVersion, Workspace: workspace,
			Invocation: call.Invocation{ID: "d", At: time.Now(), Actor: record.Actor{ID: "U1", Via: record.ViaPager}, Line: record.Line{Name: "of " + workspace}},
		})
		require.NoError(t, err)
		return &handedPiece{work, make(chan struct{})}
	}
	front := func(p *handedPiece, log *lines) (f *Front, did map[string]chan string) {
		did = map[string]chan string{}
		var bots []*Bot
		for _, name := range []string{"hq", "emea"} {
			did[name] = make(chan string, 1)
			runner := didInWorkspace{did: did[name]}
			bots = append(bots, New(Config{Workspace: name, Slack: slackconn.Connect(slackconn.Config{}), Runner: runner, Verbs: runner}))
		}
		return NewFront(FrontConfig{Stream: p, Log: slog.New(slog.NewTextHandler(log, nil))}, bots...), did
	}
	synctest.Test(t, func(t *testing.T) {
		p := at("emea")
		f, did := front(p, &lines{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Work(t.Context(), ctx) }()
		<-p.done
		require.Equal(t, "of emea", <-did["emea"])
		require.Empty(t, did["hq"])
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	synctest.Test(t, func(t *testing.T) {
		p, log := at("apac"), &lines{}
		f, did := front(p, log)
		begun := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Work(t.Context(), ctx) }()
		<-p.done
		require.Equal(t, strangeFor, time.Since(begun))
		require.Len(t, log.of("not done: a request of a workspace that is not in the configuration"), 1)
		require.Empty(t, slicesOf(did))
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	synctest.Test(t, func(t *testing.T) {
		p := at("apac")
		f, _ := front(p, &lines{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Work(t.Context(), ctx) }()
		synctest.Wait()
		stop() // another configuration follows
		require.ErrorIs(t, <-ended, context.Canceled)
		select {
		case <-p.done:
			t.Fatal("it was given up")
		default:
		}
	})
}

// slicesOf is all that was done.
func slicesOf(did map[string]chan string) (all []string) {
	for _, c := range did {
		for len(c) > 0 {
			all = append(all, <-c)
		}
	}
	return all
}
