package bot

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// How much is read of what may not be Slack's, in bytes. Together the bodies hold at most maxBodies, and maxConnections times freeBody beyond it, 48 MiB: the
// beginning of a body, which is all of what Slack usually sends, needs no room, so that large ones can't keep it out.
const (
	maxBody   = 1 << 20 // of one
	freeBody  = 16 << 10
	maxBodies = 32 << 20
)

var errBodies = errors.New("too many large bodies at once")

// bodies are those that are being read.
type bodies struct{ held atomic.Int64 } // bytes beyond each one's freeBody

// read reads a request's body as far as there is room.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, &http.MaxBytesError{Limit: maxBody}
	}
	one := &body{Reader: http.MaxBytesReader(w, r.Body, maxBody), all: b, free: freeBody}
	defer func() { b.held.Add(-one.held) }()
	return io.ReadAll(one)
}

// body takes its room among all bodies while it is read.
type body struct {
	io.Reader
	all        *bodies
	free, held int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	takes := max(int64(n)-b.free, 0)
	b.free = max(b.free-int64(n), 0)
	b.held += takes
	if takes > 0 && b.all.held.Add(takes) > maxBodies {
		return n, errBodies
	}
	return n, err
}
