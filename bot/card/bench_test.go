package card

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

// mostBytes is what drawing one card may allocate: a storm has many drawn.
const mostBytes = 70_000

// A card that strangers filled, or with ten changes, may cost three times as much. The test isn't parallel: it runs
// alone then, so that all that is allocated is the render's. The race detector makes what is allocated larger.
func TestRenderAllocatesLittle(t *testing.T) {
	full.Only(t)
	full := []string{"hostile", "storm-hostile", "storm-100000", "many-changes"}
	for name, c := range situations() {
		most := uint64(mostBytes)
		if slices.Contains(full, name) {
			most *= 3
		}
		c.render() // what is made once
		const times = 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			c.render()
		}
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, (after.TotalAlloc-before.TotalAlloc)/times, most, name)
	}
}

// BenchmarkRender draws the card of an incident with two changes, and all cards of the golden files in turn. The ratio
// is to a card that is put together without care in the same run: nothing of it is cut, escaped or advised.
func BenchmarkRender(b *testing.B) {
	all := situations()
	names := slices.Sorted(maps.Keys(all))
	golden := make([]drawing, len(names))
	for i, name := range names {
		golden[i] = all[name]
	}
	for _, of := range []struct {
		name  string
		cards []drawing
	}{{"incident", []drawing{all["denied-and-patched"]}}, {"golden", golden}} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				of.cards[n%len(of.cards)].render()
				n++
			}
			begun := time.Now()
			for i := range n {
				careless(of.cards[i%len(of.cards)])
			}
			b.ReportMetric(float64(b.Elapsed())/float64(time.Since(begun)), "careless")
		})
	}
}

// careless is a card as one would write it first.
func careless(c drawing) Message {
	s := c.Situation
	a := s.Attack
	var sources []string
	for _, source := range a.Sources {
		sources = append(sources, fmt.Sprintf("`%s` %s (%s)", source.IP, source.Country, source.Hits))
	}
	words := []string{
		fmt.Sprintf("*%s · %s · %s* `%s`", a.Type, a.Domain, a.BlockStatus, s.ID),
		fmt.Sprintf("`%s %s%s`", a.Method, a.Domain, a.Path),
		strings.Join(sources, " · "),
		fmt.Sprintf("%s hits, %s payloads since %s, last hit %s", a.Hits, a.Payloads, a.First.Format(time.DateTime), a.Last.Format(time.DateTime)),
	}
	blocks := []slack.Block{slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, strings.Join(words, "\n"), false, true), nil, nil)}
	for _, ch := range s.Changes {
		line := fmt.Sprintf("%s · %s %s → %s `%s`", ch.Does, ch.Actor.Name, ch.At.Format(time.DateTime), ch.Until.Format(time.DateTime), ch.ID)
		blocks = append(blocks, slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, line, false, true), nil, nil))
	}
	var buttons []slack.BlockElement
	for i, label := range []string{"Deny", "Patch", "Acknowledge", "More…"} {
		line := fmt.Sprintf("%s attack=%s", strings.ToLower(label), s.ID)
		buttons = append(buttons, slack.NewButtonBlockElement(fmt.Sprintf("do:%d", i), line, slack.NewTextBlockObject(slack.PlainTextType, label, false, false)))
	}
	return Message{Text: fmt.Sprintf("%s: %s on %s", a.BlockStatus, a.Type, a.Domain), Blocks: append(blocks, slack.NewActionBlock("", buttons...))}
}
