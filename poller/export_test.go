package poller

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Compared is how many attacks a poll would compare now.
func Compared(ctx context.Context, p *Poller) int {
	r := p.newReader()
	_ = r.read(ctx)
	d := &decision{snapshot: r.snapshot, cfg: &p.cfg, st: p.st, muted: p.mutes(ctx)}
	return len(d.candidates())
}

// Resweep makes the next poll read everything again.
func Resweep(p *Poller) { p.st.sweepAt = time.Time{} }

// Attacks are all records that are known, as they were last read, with what is stored of them.
func (p *Poller) Attacks() (all []record.AttackState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, seen := range p.st.records {
		s := p.st.attacks.of(id)
		s.Attack, s.ObservedAt = *seen.attack, seen.at
		all = append(all, s)
	}
	return all
}

// Held is how much is held that only a good poll would clear: what was decided, tries, what records were before, and
// records.
func (p *Poller) Held() (decided, tries, before, records int) {
	return len(p.st.changes.decided), len(p.st.lastTries), len(p.st.changes.before), len(p.st.records)
}
