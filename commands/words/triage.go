package words

import (
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Triage are the owner and the verdict of an attack, as far as there are any.
func Triage(k record.Triage) text.Lines {
	var lines text.Lines
	if k.Owner != nil {
		lines.Add(Owner(k.Owner))
	}
	if k.Verdict != nil {
		lines.Add(Verdict(*k.Verdict))
	}
	return lines
}

// Owner says who is on it, since when.
func Owner(o *record.Owner) text.Text {
	if o == nil {
		return text.New("Unacknowledged")
	}
	return OwnerSince(*o, text.Bold(text.Field(o.Name)))
}

// OwnerSince says that the owner, under the name given, is on an attack.
func OwnerSince(o record.Owner, name any) text.Text {
	return text.New(name, " is on it since ", o.Since)
}

// Unacknowledged says that no one is on an attack, and whose acknowledgement lapsed; through tells that the attack
// still gets through.
func Unacknowledged(k record.Triage, through bool) text.Text {
	if k.Lapsed == nil {
		return text.New("Unacknowledged")
	}
	words := text.Lead(text.Field(k.Lapsed.Name), "'s acknowledgement lapsed after ",
		text.Duration(k.UnackedAt.Sub(k.Lapsed.Since).Truncate(time.Minute)))
	if through {
		words.Addf("; still getting through")
	}
	return words
}

// Verdict says what a person found an attack to be.
func Verdict(v record.Verdict) text.Text {
	return text.Newf("Verdict: *%v*, by %v %v",
		strings.ReplaceAll(text.Field(v.Is), "_", " "), text.Field(v.By.Name), v.At)
}

// Note is a note with its author.
func Note(n record.Note) text.Text {
	return text.Newf("Note of %v %v: %v", text.Field(n.By.Name), n.At, text.Sanitize(n.Text, MaxNote))
}

// How much may be noted about one attack: a card and an answer have to be read.
const (
	MaxNote  = 500 // characters
	MaxNotes = 100
)
