package card

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// notification cuts a message's text to what a locked phone shows. Only its end is cut.
func notification(words string) string {
	for most := maxNotice; ; most-- {
		if out := mrkdwn(text.New(text.Sanitize(words, most))); length(out) <= maxNotice {
			return out
		}
	}
}

// noticeLength is the length of a text in a notification, escapes included.
func noticeLength(words string) int { return length(mrkdwn(text.New(words))) }

// clockTime is a moment for a notification, in UTC: Slack shows no local times there.
func clockTime(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// Unreachable says that the WAF API can't be read, why, and how to fix it.
func Unreachable(a *call.Account, f record.UnreachableFacts) Message {
	lines := []text.Text{
		text.New(text.Bold("WAF API unreachable: wafbot can't see "+a.Name), " since ", f.From, ": ", f.Why, ". ", text.Bold("Attacks may go on unseen")),
	}
	if f.Mend != "" {
		lines = append(lines, text.New("To fix it: ", f.Mend))
	}
	again := text.New("It keeps trying, and says here when the API answers again")
	if f.LastGood.IsZero() {
		again = text.New(again, ". It never could so far")
	} else {
		again = text.New(again, ". Last good poll: ", f.LastGood)
	}
	text := fmt.Sprintf("WAF API unreachable: wafbot can't see %s since %s, attacks may go on unseen: %s", a.Name, clockTime(f.From), f.Why)
	return Message{Text: notification(text), Blocks: renderLines(append(lines, again), nil)}
}

// MonitoringGap says from when to when an account was not monitored, why, and what happened meanwhile.
func MonitoringGap(a *call.Account, f record.GapFacts, now time.Time) Message {
	what, long := "wafbot wasn't watching "+a.Name, f.To.Sub(f.From)
	head := text.New(text.Bold(what), " from ", f.From, " to ", f.To, " (", text.Duration(long), "). It watches again")
	if f.Why != "" {
		what = "wafbot couldn't see " + a.Name
		head = text.New(text.Bold(what), " from ", f.From, " to ", f.To, " (", text.Duration(long), "): ", f.Why, ". It sees again")
	}
	lines := []text.Text{head}
	if long > a.Lookback {
		lines = append(lines, text.New("What was over before ", f.To.Add(-a.Lookback), " is not known: wafbot reads the last ", text.Duration(a.Lookback)))
	}
	lines = append(lines, gapLines(a, "Began meanwhile, and have cards of their own", f.Began, f.BeganCount)...)
	if f.Gathered > 0 {
		lines = append(lines, text.New(text.Bold("Began meanwhile, and grouped in a storm's card"), ": ", f.Gathered))
	}
	lines = append(lines, gapLines(a, "Over again, and listed here only", f.Over, f.OverCount)...)
	if f.BeganCount+f.Gathered+f.OverCount == 0 {
		lines = append(lines, text.New("Nothing that would have got a card began meanwhile"))
	}
	var buttons []call.Suggestion
	if f.BeganCount+f.Gathered+f.OverCount > 0 {
		// Attacks are listed by the age of their last hit. An hour is added for a reader who comes later.
		since := fmt.Sprintf("%dh", int(now.Sub(f.From)/time.Hour)+2)
		buttons = append(buttons, call.Suggestion{Label: "List all", Line: record.Line{Name: "attacks"}.With("since", since).With("account", a.Name)})
	}
	grouped := ""
	if f.Gathered > 0 {
		grouped = fmt.Sprintf("%d in a storm's card, ", f.Gathered)
	}
	text := fmt.Sprintf("%s for %s (%s to %s): %d new with a card, %s%d over again", what, text.Duration(long), clockTime(f.From), clockTime(f.To), f.BeganCount, grouped, f.OverCount)
	return Message{Text: notification(text), Blocks: renderLines(lines, buttons)}
}

// gapLines lists attacks; what is not listed is counted.
func gapLines(a *call.Account, title string, all []apiclient.Attack, count int) []text.Text {
	if count == 0 {
		return nil
	}
	lines := []text.Text{text.New(text.Bold(title), ": ", count)}
	for _, attack := range all {
		kind := ""
		if attack.Incident() {
			kind = "INCIDENT "
		}
		lines = append(lines, text.New("• ", text.Code(record.AttackID(a.Name, attack.ID)), " ", kind, typeName(attack, maxNoticeName), " on ", a.AppName(attack.App), ", ", describe.StatusName(attack), ", ",
			attack.Hits, text.Plural(attack.Hits.N, " hit"), ", ", timeOr(attack.First, "unknown"), " to ", timeOr(attack.Last, "unknown"), ": ", text.Code(describe.Where(attack))))
	}
	if more := count - len(all); more > 0 {
		lines = append(lines, text.New("… and ", more, " more"))
	}
	return lines
}
