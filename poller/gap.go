package poller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	// blindAfter is for how many intervals watching fails before that is news.
	blindAfter = 4
	// unwatched is how far back the last good poll lies at least when nobody has watched since. Less can't be told from the time
	// that Memory was not told of, and from a replica taking over.
	unwatched = 2 * time.Minute
	// maxListed is how many attacks of each kind the news of a gap lists.
	maxListed = 20
)

// tellBlind tells once in a spell of failures that the account can't be watched. Memory's failures are no such news: it could not be kept.
func (p *Poller) tellBlind(ctx context.Context, err error) {
	kind := apiclient.KindOf(err)
	if kind == 0 {
		return
	}
	p.failures++
	h := p.Health()
	refused := kind == apiclient.Unauthenticated || kind == apiclient.Forbidden // for good, until somebody mends it
	lasts := time.Since(h.Since) >= blindAfter*p.cfg.Interval
	if !p.blind.From.IsZero() || p.failures < 2 || !refused && !lasts {
		return
	}
	facts := record.UnreachableFacts{Outage: record.Outage{From: h.Since.UTC(), Why: h.Failing}, Mend: mend(kind)}
	if !p.lastGood.IsZero() {
		facts.LastGood = p.lastGood.Add(-p.skew)
	}
	n := record.Event{
		ID: record.DeliveryID(p.cfg.Account, "", record.APIUnreachable, int(h.Since.UnixMilli())), Account: p.cfg.Account, Kind: record.APIUnreachable, Channel: p.cfg.Channel,
		At: time.Now().UTC(), Payload: facts,
	}
	if err := p.remember(ctx, Update{LastGood: p.lastGood, Blind: &facts.Outage, Outdated: p.goingOn(), Events: []record.Event{n}}); err != nil {
		p.loaded = false
		p.cfg.Log.Error("being blind can't be told yet", "err", err)
		return
	}
	p.cfg.Notifier.Notify(p.cfg.Account, []record.Event{n})
}

// goingOn are the attacks and storms whose cards say whether their figures can be refreshed.
func (p *Poller) goingOn() (ids []string) {
	for id, s := range p.shown {
		if s.Told && !s.Gathered() && !s.Quiet {
			ids = append(ids, id)
		}
	}
	return ids
}

// mend says for people what can be done about an account that can't be watched.
func mend(kind apiclient.ErrorKind) string {
	switch kind {
	case apiclient.Unauthenticated:
		return "who manages the service's tokens makes a new one; written into the account's token_file, it is read by itself"
	case apiclient.Forbidden:
		return "an admin of the service gives the token's user a role that may read attacks"
	case apiclient.NotFound, apiclient.Invalid:
		return "wafbot doctor tells more"
	}
	return ""
}

// gap reports whether nobody watched between the last good poll and this time.
func (p *Poller) gap(at time.Time) bool {
	if p.lastGood.IsZero() {
		return false
	}
	return !p.blind.From.IsZero() || at.Sub(p.lastGood) > max(unwatched, blindAfter*p.cfg.Interval)
}

// bridge has the good poll that ends a gap tell of it. Attacks that are over and would get their first card now are listed there instead;
// a poll that reads a part only leaves them to the one that reads all.
func (p *Poller) bridge(u *Update, r reading, good bool) {
	if good && !p.blind.From.IsZero() {
		u.Blind, u.Outdated = &record.Outage{}, p.goingOn()
	}
	if !p.gap(r.at) {
		return
	}
	var over []apiclient.Attack
	u.Events = slices.DeleteFunc(u.Events, func(n record.Event) bool {
		if !p.bridged(n, u, r.at) {
			return false
		}
		attack := n.Attack()
		over = append(over, attack)
		delete(u.Shown, attack.ID)
		if good {
			listed := p.shown[attack.ID]
			listed.Attack, listed.SeenAt, listed.Base = attack, n.At, baselineRaised(listed.Base, attack, record.NewAttack)
			u.Shown[attack.ID] = listed
		}
		return true
	})
	if !good {
		return
	}
	facts := record.GapFacts{From: p.lastGood, To: r.at, Why: p.whyBlind()}
	u.Absence = &record.Outage{From: facts.From, Until: facts.To, Why: facts.Why}
	facts.Over, facts.OverCount = oldest(over), len(over)
	began, gathered := p.beganSince(p.lastGood.Truncate(time.Second), u, r) // the service counts whole seconds
	facts.Began, facts.BeganCount, facts.Gathered = oldest(began), len(began), gathered
	u.Events = append(u.Events, record.Event{
		ID: record.DeliveryID(p.cfg.Account, "", record.MonitoringGap, int(p.lastGood.UnixMilli())), Account: p.cfg.Account, Kind: record.MonitoringGap, Channel: p.cfg.Channel, At: r.at,
		Payload: facts,
	})
	sortEvents(u.Events)
}

// bridged reports whether an attack is listed by the news of a gap in the place of a card: it is over, and was never told.
func (p *Poller) bridged(n record.Event, u *Update, at time.Time) bool {
	c := n.Changed()
	return n.Kind == record.NewAttack && c.Quiet && c.Storm == nil && !u.Shown[c.Attack.ID].Own && p.gap(at)
}

// whyBlind are the causes of this spell of failures, in words for people.
func (p *Poller) whyBlind() string {
	var causes []string
	for _, why := range append([]string{p.blind.Why}, p.reported...) {
		if why != "" && !slices.Contains(causes, why) {
			causes = append(causes, why)
		}
	}
	return strings.Join(causes, "; then ")
}

// beganSince are the attacks that began then and have a card, and those that got their first one by this poll, whenever the service says that
// they began; and how many of these only a storm's card tells of.
func (p *Poller) beganSince(from time.Time, u *Update, r reading) (began []apiclient.Attack, gathered int) {
	shown := maps.Clone(p.shown)
	maps.Copy(shown, u.Shown)
	for _, s := range shown {
		now := s.Revision == 1 && s.SeenAt.Equal(r.at)
		switch {
		case !s.Told || s.Storm != nil || !now && s.Attack.First.Before(from):
		case s.Gathered():
			gathered++
		default:
			began = append(began, s.Attack)
		}
	}
	return began, gathered
}

// oldest are the first attacks that began, without their sources: as many as the news of a gap lists.
func oldest(all []apiclient.Attack) []apiclient.Attack {
	slices.SortFunc(all, func(a, b apiclient.Attack) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.ID, b.ID)) })
	listed := slices.Clone(all[:min(maxListed, len(all))])
	for i := range listed {
		listed[i].Sources, listed[i].Countries = nil, nil
	}
	return listed
}
