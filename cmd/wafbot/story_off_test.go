package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// One replica's configuration switches changes off: none makes any, whatever account it is about, until that replica is gone.
func TestOneReplicaSwitchesChangesOff(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		answer := w.askedAtShell("deny " + attacker)
		first, address := w.stop, w.address
		off := *w.cfg
		off.Policy.Changes = "off"
		w.cfg = &off
		w.start()
		// statuses waits until the answers of whichever replica say so, six times one after another.
		statuses := func(says string) {
			same := 0
			w.until("all replicas are "+says, func() bool {
				if same++; !strings.Contains(w.answer("vic", "status"), says) {
					same = 0
				}
				return same >= 6
			})
		}
		statuses("only watching: changes are switched off")
		for range 4 {
			w.types("rob", "deny "+attacker)
		}
		w.until("refusals", func() bool {
			return len(w.ephemerals("rob", "changes are switched off (policy.changes: off)")) == 4
		})
		got := answer("y")
		require.Contains(t, got.err, "changes are switched off", "since it was asked")
		require.Empty(t, w.sent())

		w.stop()
		w.stop, w.address = first, address
		w.DeliverTo(address)
		statuses("live: changes are made")
		w.types("rob", "deny "+attacker)
		w.ephemeral("rob", "accepted")
		require.Len(t, w.entries("acme"), 1)
	})
}

// askedAtShell types a line at a terminal and waits for its question; answer answers that.
func (w *world) askedAtShell(line string) (answer func(string) answered) {
	w.t.Helper()
	environ := w.shell("[]", record.Responder)
	typing, types, err := os.Pipe()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _, _ = typing.Close(), types.Close() })
	asked, done := make(chan struct{}), make(chan answered, 1)
	go func() {
		var said bytes.Buffer
		out := io.MultiWriter(&said, askedWriter{sync.OnceFunc(func() { close(asked) })})
		code := run(w.t.Context(), terminal{args: strings.Fields(line), environ: environ, in: typing, asks: true, out: out, err: out})
		done <- answered{code: code, err: said.String()}
	}()
	select {
	case <-asked:
	case got := <-done:
		require.FailNow(w.t, "it isn't asked", "%+v", got)
	}
	return func(words string) answered {
		_, err := fmt.Fprintln(types, words)
		require.NoError(w.t, err)
		return <-done
	}
}
