package poller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestWhomEventsMention(t *testing.T) {
	t.Parallel()
	const day, lead = "S0DAY", "S0LEAD"
	route := config.Route{Channel: "C1", Mention: day, AckTimeout: 2 * time.Hour}
	mentioned := record.AttackState{Notified: true, Mention: day, MentionedAt: noon.Add(-3 * time.Minute)}
	long := mentioned
	long.MentionedAt = noon.Add(-10 * time.Minute)
	suppressed := record.AttackState{Notified: true, SuppressedMention: day, Suppressed: true}
	calm := record.AttackState{Notified: true, SuppressedMention: day}
	night := config.Quiet{Hours: "00:00-23:59"}
	by := func(q config.Quiet, lastGood time.Time) *decision {
		return &decision{cfg: &Config{Account: &config.Account{Quiet: q}}, st: &state{lastGood: lastGood},
			snapshot: snapshot{at: noon}}
	}
	back := record.AttackState{Attack: sqli()}
	by(night, noon).mention(record.AttackState{Notified: true, Rebuilt: true}, &back, record.Grew, route)
	require.Equal(t, route.AckTimeout, back.AckTimeout, "what its card doesn't carry is the route's")
	for name, tt := range map[string]struct {
		last  record.AttackState
		kind  record.EventKind
		route config.Route
		first bool
		quiet config.Quiet
		a     apiclient.Attack

		whom       string // on the card
		suppressed bool   // the event
		night      bool   // the card says that it is because of quiet hours
		at         time.Time
	}{
		"the first event mentions":                   {kind: record.NewAttack, route: route, a: sqli(), whom: day, at: noon},
		"but for a first start":                      {kind: record.NewAttack, route: route, first: true, a: sqli()},
		"and in quiet hours":                         {kind: record.NewAttack, route: route, quiet: night, a: sqli(status("blocked")), suppressed: true, night: true},
		"quiet hours of a route without mention":     {kind: record.NewAttack, quiet: night, a: sqli(status("blocked")), suppressed: true},
		"an incident pings at night":                 {kind: record.NewIncident, route: route, quiet: night, a: sqli(vuln("8")), whom: day, at: noon},
		"worse a short while later":                  {last: mentioned, kind: record.Worsened, a: sqli(), whom: day, suppressed: true, at: mentioned.MentionedAt},
		"worse after that":                           {last: long, kind: record.Worsened, a: sqli(), whom: day, at: noon},
		"an incident a short while later":            {last: mentioned, kind: record.BecameIncident, route: route, a: sqli(vuln("8")), whom: day, at: noon},
		"an incident of another route":               {last: mentioned, kind: record.BecameIncident, route: config.Route{Channel: "C2", Mention: lead}, a: sqli(vuln("8")), whom: lead, at: noon},
		"an incident that no route takes":            {last: mentioned, kind: record.BecameIncident, a: sqli(vuln("8")), whom: day, at: noon},
		"worse at night":                             {last: long, kind: record.Worsened, quiet: night, a: sqli(status("blocked")), suppressed: true, night: true, at: long.MentionedAt},
		"worse the day after":                        {last: suppressed, kind: record.Worsened, a: sqli(), whom: day, at: noon},
		"it became an incident that night":           {last: suppressed, kind: record.BecameIncident, route: route, quiet: night, a: sqli(vuln("8")), whom: day, at: noon},
		"a figure mentions no people":                {last: mentioned, kind: record.Grew, a: sqli(), whom: day, at: mentioned.MentionedAt},
		"and the card still says that it was night":  {last: suppressed, kind: record.Grew, a: sqli(), night: true},
		"nor does quiet":                             {last: long, kind: record.WentQuiet, a: sqli(), whom: day, at: long.MentionedAt},
		"worse, after a first start without mention": {last: calm, kind: record.Worsened, a: sqli(), whom: day, at: noon},
		"of a rebuilt card no mention is known":      {last: record.AttackState{Notified: true, Rebuilt: true}, kind: record.Grew, route: route, a: sqli()},
	} {
		s, lastGood := tt.last, noon
		if s.Attack = tt.a; tt.first {
			lastGood = time.Time{}
		}
		suppressed := by(tt.quiet, lastGood).mention(tt.last, &s, tt.kind, tt.route)
		require.Equal(t, tt.whom, s.Mention, name)
		require.Equal(t, tt.suppressed, suppressed, name)
		require.Equal(t, tt.night, s.Suppressed, name)
		require.Equal(t, tt.at, s.MentionedAt, name)
	}
}
