package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkAccept is a click written down in a real Redis; "roundtrips" is its cost in bare PINGs of the same run.
func BenchmarkAccept(b *testing.B) {
	w := newReal(b)
	s := w.open(b)
	work := make([]byte, 1000)
	const trips = 2000
	require.NoError(b, w.rdb.Ping(b.Context()).Err())
	begun := time.Now()
	for range trips {
		require.NoError(b, w.rdb.Ping(b.Context()).Err())
	}
	trip := time.Since(begun) / trips
	n := 0
	for b.Loop() {
		n++
		_, err := s.Accept(b.Context(), work, fmt.Sprint(n))
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(trip), "roundtrips")
}
