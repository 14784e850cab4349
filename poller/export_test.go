package poller

import "context"

// Compared is how many attacks a poll would compare now.
func Compared(ctx context.Context, p *Poller) int {
	snap, _ := p.newReader().read(ctx)
	d := &decision{cfg: &p.cfg, st: p.st, snap: snap, preferences: p.preferences(ctx)}
	return len(d.candidates())
}
