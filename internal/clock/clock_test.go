package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/clock"
)

// world is clocks in a bubble, with the offsets from its clock, which is the machine's, that Redis and the service of acme really have.
type world struct {
	*clock.Clocks
	redis, service time.Duration
}

func inBubble(t *testing.T, redis, service time.Duration, run func(t *testing.T, w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { run(t, &world{clock.New(), redis, service}) })
}

// beat has Redis say the time after a round trip; poll has the service do so, in whole seconds.
func (w *world) beat(trip time.Duration) {
	asked := time.Now()
	time.Sleep(trip)
	w.NoteRedis(asked, asked.Add(trip/2+w.redis))
}

func (w *world) poll(trip time.Duration) {
	asked := time.Now()
	time.Sleep(trip)
	w.Service("acme").Note(asked, asked.Add(trip/2+w.service).Truncate(time.Second))
}

func TestUnreadClocksAreTheMachines(t *testing.T) {
	inBubble(t, 0, 0, func(t *testing.T, w *world) {
		require.True(t, time.Now().Equal(w.Now()))
		require.True(t, time.Now().Equal(w.ServiceNow("acme")))
		w.redis = time.Hour
		w.beat(0)
		require.True(t, time.Now().Add(time.Hour).Equal(w.ServiceNow("acme")), "Redis' as long as the service has said none")
	})
}

func TestClocksThatAreWrong(t *testing.T) {
	for _, off := range []time.Duration{-100 * 24 * time.Hour, -time.Hour, -2 * time.Second, 0, time.Second, time.Minute, time.Hour, 10 * 365 * 24 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			inBubble(t, off, -off, func(t *testing.T, w *world) {
				for range 50 {
					w.beat(3 * time.Millisecond)
					w.poll(70 * time.Millisecond)
					time.Sleep(time.Second + 77*time.Millisecond)
				}
				require.WithinDuration(t, time.Now().Add(off), w.Now(), 3*time.Millisecond)
				require.WithinDuration(t, time.Now().Add(-off), w.ServiceNow("acme"), 150*time.Millisecond, "closer than the seconds that it counts in")
				time.Sleep(1000 * time.Hour)
				require.WithinDuration(t, time.Now().Add(off), w.Now(), 3*time.Millisecond, "it goes on by itself")
			})
		})
	}
}

func TestClocksThatAgreeAreTheSame(t *testing.T) {
	inBubble(t, 0, 0, func(t *testing.T, w *world) {
		for range 50 {
			w.beat(5 * time.Millisecond)
			w.poll(70 * time.Millisecond)
			time.Sleep(1234 * time.Millisecond)
		}
		require.True(t, w.Now().Equal(w.ServiceNow("acme")))
		require.True(t, w.Now().Equal(time.Now()))
		require.Empty(t, w.Trouble())
	})
}

func TestASlowAnswerSaysLittle(t *testing.T) {
	inBubble(t, time.Hour, 0, func(t *testing.T, w *world) {
		w.beat(time.Millisecond)
		asked := time.Now()
		time.Sleep(10 * time.Minute)
		w.NoteRedis(asked, asked.Add(time.Hour)) // at once: its answer took ten minutes
		require.WithinDuration(t, time.Now().Add(time.Hour), w.Now(), time.Millisecond)
	})
}

// A proxy on the way may answer for the service once; a Redis that was failed over to another machine goes on answering.
func TestOneAnswerMovesNoClockFar(t *testing.T) {
	inBubble(t, 0, 0, func(t *testing.T, w *world) {
		w.poll(0)
		w.service = -24 * time.Hour
		w.poll(0)
		require.WithinDuration(t, time.Now(), w.ServiceNow("acme"), time.Second)
		w.service = 0
		w.poll(0)
		w.service = time.Hour
		w.poll(0)
		require.WithinDuration(t, time.Now(), w.ServiceNow("acme"), time.Second)
		w.poll(0)
		require.WithinDuration(t, time.Now().Add(time.Hour), w.ServiceNow("acme"), time.Second, "it says so again")
	})
}

func TestWhichClockIsWrong(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		redis, service  time.Duration
		machine         bool
		trouble, unsure string
		outside         time.Duration
		apart           string
	}{
		"none":        {redis: 29 * time.Second, service: -29 * time.Second},
		"the machine": {redis: -hour, service: -hour, machine: true, trouble: "this machine's clock is wrong: Redis' clock is 1h0m0s behind this machine's; the clock of acme's service is 1h0m0s behind", outside: -hour, apart: "redis, service"},
		"Redis":       {redis: hour, trouble: "Redis' clock is 1h0m0s ahead of this machine's", apart: "redis"},
		"the service": {service: 5 * time.Minute, trouble: "the clock of acme's service is 5m0s ahead of this machine's", apart: "service"},
		"all": {
			redis: -hour, service: hour, machine: true, trouble: "this machine's clock is wrong", outside: -hour, apart: "redis, service",
			unsure: "no two clocks agree: Redis' is 1h0m0s behind this machine's, the service's is 1h0m0s ahead of it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.redis, c.service, func(t *testing.T, w *world) {
				w.beat(0)
				if c.redis.Abs() > clock.Tolerance {
					require.Contains(t, w.Unsure("acme"), "the service has not said the time yet")
				} else {
					require.Empty(t, w.Unsure("acme"))
				}
				w.poll(0)
				o := w.Offsets()
				require.Equal(t, c.machine, o.MachineWrong())
				require.Equal(t, c.apart, o.Apart())
				require.Contains(t, w.Trouble(), c.trouble)
				require.Equal(t, c.trouble == "", w.Trouble() == "")
				require.Contains(t, w.Unsure("acme"), c.unsure)
				require.Equal(t, c.unsure == "", w.Unsure("acme") == "")
				if c.apart != "" {
					require.WithinDuration(t, time.Now().Add(c.outside), w.Outside(), time.Second)
				}
				account, farthest := o.Farthest()
				require.Equal(t, "acme", account)
				require.InDelta(t, c.service, farthest, float64(time.Second))
			})
		})
	}
}
