package apiclient_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
)

// bomb is an answer that is small on the wire.
type bomb struct {
	status           int
	begin, more, end string // more comes again and again
	length           int    // bytes after decompression
}

// A gigabyte of JSON in a small answer is read to a bound, and what is read takes little memory. The test has the
// process for itself, for it measures the heap.
func TestNoAnswerFillsTheMemory(t *testing.T) {
	full.Only(t)
	for name, b := range map[string]bomb{
		"spaces":           {200, `{"status":200,"body":[`, " ", "]}", 1 << 30},
		"numbers":          {200, "[1", ",1", "]", 1 << 30},
		"as long as taken": {200, "[1", ",1", "]", 8<<20 - 1<<10},
		"fields":           {200, `{"data":[1`, ",1", "]}", 8<<20 - 1<<10},
		"a refusal":        {400, "[1", ",1", "]", 1 << 30},
		"a refusal within": {200, `{"status":400,"body":[1`, ",1", "]}", 8<<20 - 1<<10},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			s.fault = b.serve
			c := s.start(func(cfg *apiclient.Config) { cfg.Tries = 1 })
			peak := heapPeak(func() {
				_, err := drain(c.Attacks(t.Context(), apiclient.AttackFilter{}))
				require.Error(t, err)
			})
			require.Less(t, peak, 100, "MB")
		})
	}
}

func (b bomb) serve(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(b.status)
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	_, err := io.WriteString(z, b.begin)
	chunk := strings.Repeat(b.more, 1<<10)
	for left := b.length; err == nil && left > len(chunk); left -= len(chunk) {
		_, err = io.WriteString(z, chunk)
	}
	_, _ = io.WriteString(z, b.end)
	_ = z.Close()
	return true
}

// heapPeak is by how many MB the heap grows at most while something runs, with what is not collected yet.
func heapPeak(run func()) int {
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // what isn't collected yet counts
	runtime.GC()
	before, done, peak := heap(), make(chan struct{}), make(chan uint64)
	go func() {
		most, tick := before, time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heap())
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
			}
		}
	}()
	run()
	close(done)
	return int((<-peak - before) >> 20)
}

// A listing that never ends is an error, not a part of what there is.
func TestAListingWithoutEndIsAnError(t *testing.T) {
	t.Parallel()
	s := newService(t)
	n := 0
	s.fault = func(w http.ResponseWriter, _ *http.Request) bool {
		n++
		page := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"id":%d},`, n), 1000), ",")
		return body(200, `{"status":200,"body":[`+page+`]}`)(w, nil)
	}
	read := 0
	for _, err := range s.start().Rules(t.Context(), 0) {
		if err != nil {
			require.Equal(t, apiclient.Server, apiclient.KindOf(err))
			require.ErrorContains(t, err, "the list goes on after 201000 records and 2 MiB")
			require.Equal(t, 201_000, read)
			return
		}
		read++
	}
	t.Fatal("it ended")
}

func TestAnAnswerWithMoreThanWasAskedForIsAnError(t *testing.T) {
	t.Parallel()
	_, err := drain(reading(t, 200, "["+strings.Repeat("{},", 2000)+"{}]").Rules(t.Context(), 0))
	require.ErrorContains(t, err, "answer holds more than 2000 records")
}
