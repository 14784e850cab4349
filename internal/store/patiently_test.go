package store_test

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// patiently is a hook that gives a Redis patience longer to answer: on a busy machine two seconds are no outage. What tests of outages need goes over
// a wire instead.
type patiently struct{}

// DialHook implements redis.Hook.
func (patiently) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return patientConn{conn}, nil
	}
}

// ProcessHook implements redis.Hook.
func (patiently) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (patiently) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type patientConn struct{ net.Conn }

func later(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(patience)
}

// SetDeadline implements net.Conn.
func (c patientConn) SetDeadline(t time.Time) error { return c.Conn.SetDeadline(later(t)) }

// SetReadDeadline implements net.Conn.
func (c patientConn) SetReadDeadline(t time.Time) error { return c.Conn.SetReadDeadline(later(t)) }

// SetWriteDeadline implements net.Conn.
func (c patientConn) SetWriteDeadline(t time.Time) error { return c.Conn.SetWriteDeadline(later(t)) }
