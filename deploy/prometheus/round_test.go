package prometheus

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/wrongclock"
)

var (
	round  = flag.Bool("alerts", false, "play each fault of the emulated world under the real Prometheus (half an hour)")
	only   = flag.String("alerts.only", "", "of the faults those whose name matches")
	hour   = flag.Duration("alerts.healthy", time.Hour/faster, "how long nothing is wrong")
	beside = flag.Int("alerts.beside", 6, "how many installations have faults at the same time")
)

const (
	stays = 30 * time.Second // how long a fault goes on after its alert fired: five minutes, shortened
	spare = time.Minute      // how much longer than by its times an alert may take on a busy machine
)

// trouble is a fault that is set, and which alert fires because of it.
type trouble struct {
	set   func(in *installation)
	clear func(in *installation) // nil: the world's faults are cleared
	alert string                 // "": none
	also  string                 // what else may fire, because the rules are faster here than timeouts of the program are
}

const (
	notWatched  = "WafbotAccountNotWatched"
	slackRefuse = "WafbotSlackRefusing"
	late        = "WafbotPollLate"
	waiting     = "WafbotEventsWaiting"
)

// byMenu is what each kind of the menu does when it is set for every request.
func byMenu() map[string]trouble {
	return map[string]trouble{
		"service status:500": {alert: notWatched}, "service status:429": {alert: notWatched}, "service status:423": {alert: notWatched}, "service status:403": {alert: notWatched, also: "WafbotPermissionLost"},
		"service unauthenticated": {alert: notWatched, also: "WafbotPermissionLost"}, "service inner:500": {alert: notWatched}, "service html": {alert: notWatched},
		"service hang": {alert: notWatched, also: late}, "service reset": {alert: notWatched}, "service cut": {alert: notWatched}, "service 500_applied": {alert: notWatched},
		"service reset_applied": {alert: notWatched}, "service slow": {also: late}, "service lagging": {}, "service mode_replaced": {}, "service mode_kept": {}, "service endless": {also: late}, "service foreign": {alert: notWatched},

		"slack ratelimited": {alert: waiting}, "slack ratelimited_posted": {alert: waiting}, "slack 500": {alert: slackRefuse}, "slack 500_posted": {alert: slackRefuse},
		"slack timeout": {alert: slackRefuse, also: waiting}, "slack timeout_posted": {alert: slackRefuse, also: waiting}, "slack archived": {alert: slackRefuse}, "slack missing_scope": {alert: slackRefuse},
		"slack token_revoked": {alert: slackRefuse}, "slack edit_window_closed": {also: slackRefuse}, "slack lost_click": {}, "slack duplicate_delivery": {},
	}
}

// troubles are those of the menu, and those that aren't on it.
func troubles() map[string]trouble {
	all := map[string]trouble{
		"redis is down": {
			set:   func(in *installation) { in.redis.Kill() },
			clear: func(in *installation) { require.NoError(in.t, in.redis.Restart()) },
			alert: "WafbotRedisDown",
		},
		"a replica is killed": {
			set:   func(in *installation) { in.stop(1, syscall.SIGKILL) },
			clear: func(in *installation) { in.start(1, in.binary) },
			alert: "WafbotReplicasMissing",
		},
		"a clock is an hour ahead": {
			set: func(in *installation) {
				wrong := build(in.t, "wrong", wrongclock.Flags(in.t)...)
				in.stop(1, syscall.SIGTERM)
				in.start(1, wrong)
			},
			clear: func(in *installation) { in.stop(1, syscall.SIGTERM); in.start(1, in.binary) },
			alert: "WafbotClockWrong",
		},
		"the permission is lost": {
			set:   func(in *installation) { in.fault("service", "status:403", "POST /v4/ip_rules") },
			alert: "WafbotPermissionLost",
		},
		"a pager is dead": {
			set:   func(in *installation) { in.pager.dead.Store(true) },
			clear: func(in *installation) { in.pager.dead.Store(false) },
			alert: "WafbotPagerFailing",
		},
		"changes fail": {
			set:   func(in *installation) { in.fault("service", "status:500", "POST /v4/ip_rules") },
			alert: "WafbotChangesFailing",
		},
	}
	for name, one := range byMenu() {
		side, kind, _ := strings.Cut(name, " ")
		one.set = func(in *installation) { in.fault(side, kind, "") }
		all[name] = one
	}
	return all
}

func (in *installation) fault(side, kind, endpoint string) {
	body := map[string]any{"kind": kind}
	if endpoint != "" {
		body["endpoint"] = endpoint
	}
	in.ask("/faults/"+side, body)
}

// TestRound plays a healthy hour, in which no alert fires and every query of the dashboard has data, and each fault, which fires its alert and no other.
// The rules are ten times as fast as they are shipped, and so is the hour. Most of a fault is waiting: so many installations play beside each other, each of
// which takes the next fault that is left.
func TestRound(t *testing.T) {
	if !*round {
		t.Skip("make alerts plays it")
	}
	binary := build(t, "wafbot")
	all, left := troubles(), make(chan string, len(troubles()))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if regexp.MustCompile(*only).MatchString(name) {
			left <- name
		}
	}
	close(left)
	t.Run("a healthy hour", func(t *testing.T) {
		t.Parallel()
		install(t, binary).isHealthy(t)
	})
	for i := range *beside {
		t.Run(fmt.Sprintf("installation %d", i+1), func(t *testing.T) {
			t.Parallel()
			in := install(t, binary)
			for name := range left {
				t.Run(name, func(t *testing.T) { in.play(t, all[name]) })
			}
		})
	}
}

// isHealthy plays the healthy hour.
func (in *installation) isHealthy(t *testing.T) {
	t.Helper()
	menu := slices.Sorted(maps.Keys(byMenu()))
	require.ElementsMatch(t, menu, in.menu(), "each kind of fault has its alert here, or none")
	for healthy := time.Now(); time.Since(healthy) < *hour; in.pass(8 * time.Second) {
		in.happen()
	}
	require.Empty(t, in.fired(*hour), "in a healthy hour")
	for name, expr := range readDashboard(t).queries("30s") {
		found, err := in.query(expr)
		require.NoError(t, err, name)
		t.Logf("%-30s %v", name, found)
		require.NotEmpty(t, found, "%s has no data: %s", name, expr)
		for _, value := range found {
			require.False(t, math.IsNaN(value), "%s has no data: %s", name, expr)
		}
	}
}

// play sets a fault, waits for its alert, and takes the fault away.
func (in *installation) play(t *testing.T, one trouble) {
	one.set(in)
	began := time.Now()
	longest := 10*time.Minute/faster + spare
	fires := func() bool { return slices.Contains(in.fired(time.Since(began)), one.alert) }
	for time.Since(began) < longest && (one.alert == "" || !fires()) {
		in.happen()
		in.pass(8 * time.Second)
	}
	took := time.Since(began).Round(time.Second)
	in.pass(stays)
	fired := in.fired(time.Since(began))
	if one.clear == nil {
		in.ask("/faults/clear", map[string]any{})
	} else {
		one.clear(in)
	}
	in.until("all to be well again", 10*time.Minute, func() bool {
		in.types(fmt.Sprintf("deny 203.0.119.%d for=1h", in.attacks%250+1)) // a permission is lost until the service takes a change
		found, err := in.query(`ALERTS`)
		return err == nil && len(found) == 0
	})
	in.pass(20*time.Minute/faster - 15*time.Second) // what is counted over 15 minutes is over
	after := slices.DeleteFunc(in.fired(time.Since(began)), func(alert string) bool { return slices.Contains(fired, alert) })
	t.Logf("fired %v within %s; afterwards %v", fired, took, after)
	require.Empty(t, after, "after the fault")
	fired = slices.DeleteFunc(fired, func(alert string) bool { return alert == one.also })
	if one.alert == "" {
		require.Empty(t, fired)
		return
	}
	require.Equal(t, []string{one.alert}, fired)
}

// fired are the alerts that fired so lately, in order.
func (in *installation) fired(lately time.Duration) (names []string) {
	in.t.Helper()
	found, err := in.query(`count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[` + (lately.Truncate(time.Second) + time.Second).String() + `]))`)
	require.NoError(in.t, err)
	for labels := range found {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(labels, "map[alertname:"), "]"))
	}
	slices.Sort(names)
	return names
}

// pass lets time pass: Prometheus has no clock but the machine's.
func (in *installation) pass(d time.Duration) {
	in.t.Helper()
	select {
	case <-in.t.Context().Done():
	case <-time.After(d):
	}
}

// until asks every two seconds, as often as Prometheus scrapes.
func (in *installation) until(what string, most time.Duration, ok func() bool) {
	in.t.Helper()
	for end := time.Now().Add(most); !ok(); in.pass(2 * time.Second) {
		require.True(in.t, time.Now().Before(end), "never: %s", what)
	}
}
