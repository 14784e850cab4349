package bot

import (
	"time"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// PageNow is what a card tells of its route's pager. At most one of its times is set.
type PageNow struct {
	At    time.Time // it is called then if nobody is on it; zero: it isn't
	Taken time.Time // it was called, and nobody is on it yet
	Fault string    // it can't be called: why
}

// pageState is what is told of an attack's pager.
func pageState(f facts, now time.Time) PageNow {
	last := f.file.Page
	if last.State == commands.PageCalling {
		if f.file.Case.Owner != nil { // about to be ended
			return PageNow{}
		}
		if !last.TakenAt.IsZero() {
			return PageNow{Taken: last.TakenAt}
		}
		return PageNow{Fault: last.Fault}
	}
	pager := f.shown.Pager
	if pager == nil {
		return PageNow{}
	}
	_, muted := commands.Muted(f.file.Scene.Mutes, f.shown.Attack, now)
	u := commands.Unclaimed{Attack: f.shown.Attack, Quiet: f.shown.Quiet, Muted: muted, Told: pager.Told, Worse: pager.Worse, Route: pager.Route, After: pager.After, Case: f.file.Case}
	_, at, _ := u.PagesAt(last)
	return PageNow{At: at}
}

// text goes behind who is on it.
func (p PageNow) text() commands.Text {
	switch {
	case !p.At.IsZero():
		return commands.Say(" · pages at ", p.At)
	case !p.Taken.IsZero():
		return commands.Say(" · paged at ", p.Taken)
	case p.Fault != "":
		return commands.Say(" · ", commands.Bold("not paged"), ": ", commands.Visible(p.Fault, maxField))
	}
	return nil
}

// pagerAway says that a pager can't be called, so that whoever reads it calls somebody.
func pagerAway(n poller.News) Message {
	lines := []commands.Text{
		commands.Say(commands.Bold("The pager of "+n.Account+" can't be called: nobody is called"), ". Why: ", commands.Visible(n.Fault, maxTitle*2)),
		commands.Say("Attacks that nobody is on wait for it. wafbot tries again by itself, unless the call was refused; their cards say when it was called. ",
			"If you read this: take what waits, or call somebody"),
	}
	m := linesMessage(lines, []commands.Suggestion{{Label: "What burns", Line: commands.Line{Name: "status"}.With("account", n.Account)}})
	m.Text = notification("The pager of " + n.Account + " can't be called, nobody is called: " + n.Fault)
	return m
}
