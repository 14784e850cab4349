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
		require.Zero(t, w.Offsets().Off())
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

// Only the machine's clock against Redis' is said to be off, beyond two seconds. Nothing is known of a service until its first answer.
func TestWhatIsKnownOfClocks(t *testing.T) {
	for name, c := range map[string]struct{ redis, service, off time.Duration }{
		"all agree":            {redis: 2 * time.Second, service: -time.Second},
		"the machine's is":     {redis: -time.Hour, service: -time.Hour, off: time.Hour},
		"Redis' is":            {redis: 3 * time.Second, off: -3 * time.Second},
		"the service's is":     {service: 5 * time.Minute},
		"no two of them agree": {redis: -time.Hour, service: time.Hour, off: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.redis, c.service, func(t *testing.T, w *world) {
				require.Zero(t, w.Offsets().Off(), "Redis has not said the time yet")
				w.beat(0)
				require.False(t, w.Known("acme"))
				account, _ := w.Offsets().Farthest()
				require.Empty(t, account)
				w.poll(0)
				require.True(t, w.Known("acme"))
				require.InDelta(t, c.off, w.Offsets().Off(), float64(time.Millisecond))
				account, farthest := w.Offsets().Farthest()
				require.Equal(t, "acme", account)
				require.InDelta(t, c.service, farthest, float64(time.Second))
			})
		})
	}
}
