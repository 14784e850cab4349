package card

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/text"
)

// Slack's limits in characters, as length counts them. There is a margin where Slack doesn't document how it counts.
const (
	maxText        = 2_900 // of one text object; Slack takes 3,000
	maxTogether    = 9_800 // of all texts of a message's blocks; Slack takes about 12,000
	maxBlocks      = 50    // of a message
	maxButtons     = 25    // of one block
	maxCardLine    = 280
	maxChangeLine  = 700
	maxAnswerText  = 1_000
	maxNotice      = 120 // a phone shows no more
	maxLabel       = 75
	maxValue       = 2_000
	maxURL         = 3_000
	maxLineURL     = 300 // of a link in a card's line
	maxDialogTitle = 100
	maxDialogText  = 300
	maxDialogOK    = 30
)

// Limits that keep a list whole, in characters.
const (
	maxItem  = 370 // of an item, where not all lines of an answer fit: a message holds call.LongList of them
	maxRow   = 400 // of a row with buttons
	restRoom = 40  // kept for counting what is left out
)

// plainText is text without markup. It is never empty, because Slack refuses empty text.
func plainText(s string, limit int) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, cmp.Or(text.Sanitize(s, limit), "…"), false, false)
}

// markupText is text in Slack's markup. It is verbatim, so that Slack makes no links or mentions of plain words.
func markupText(markup string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, cmp.Or(markup, "…"), false, true)
}

func section(markup string, accessory *slack.ButtonBlockElement) slack.Block {
	b := slack.NewSectionBlock(markupText(markup), nil, nil)
	if accessory != nil {
		b.Accessory = slack.NewAccessory(accessory)
	}
	return b
}

// actions is the block of buttons; none where there are no buttons.
func actions(buttons ...*slack.ButtonBlockElement) []slack.Block {
	if len(buttons) == 0 {
		return nil
	}
	elements := make([]slack.BlockElement, len(buttons))
	for i, b := range buttons {
		elements[i] = b
	}
	return []slack.Block{slack.NewActionBlock("", elements...)}
}

// weight counts the characters of buttons, including their confirms.
func weight(buttons ...*slack.ButtonBlockElement) int {
	n := 0
	for _, b := range buttons {
		n += length(b.Text.Text)
		if c := b.Confirm; c != nil {
			n += length(c.Title.Text) + length(c.Text.Text) + length(c.Confirm.Text) + length(c.Deny.Text)
		}
	}
	return n
}

// length counts characters as strictly as Slack might.
func length(s string) int { return text.Length(s) }

// lineBlocks puts lines into as few blocks as possible.
type lineBlocks struct {
	blocks []slack.Block
	text   string // lines that wait for their block
}

func (w *lineBlocks) add(markup string) {
	if w.text != "" && length(w.text)+1+length(markup) > maxText {
		w.flush()
	}
	w.text = strings.TrimPrefix(w.text+"\n"+markup, "\n")
}

func (w *lineBlocks) flush() {
	if w.text != "" {
		w.blocks = append(w.blocks, section(w.text, nil))
		w.text = ""
	}
}

// sections are the blocks of as many lines as fit into room characters.
func sections(texts text.Lines, room int) []slack.Block {
	var w lineBlocks
	for _, line := range firstLines(flat(texts), maxText, room) {
		w.add(line)
	}
	w.flush()
	return w.blocks
}

// firstLines returns as many lines in Slack's markup as room allows, none longer than most. A list's items are cut
// rather than left out, and so is the first line. It counts the lines left out.
func firstLines(lines text.Lines, most, room int) []string {
	first := fill(lines, most, most, room)
	if len(first) < len(lines) {
		first = fill(lines, most, min(most, maxItem), room)
	}
	if left := len(lines) - len(first); left > 0 {
		first = append(first, moreLines(left))
	}
	return first
}

func fill(lines text.Lines, most, mostOfItem, room int) (first []string) {
	for i, line := range lines {
		limit := most
		if i == 0 {
			limit = max(1, min(most, room-restRoom-1))
		} else if strings.HasPrefix(line[0].Text, "• ") {
			limit = mostOfItem
		}
		markup := fit(line, limit)
		if room -= length(markup) + 1; room < restRoom {
			break
		}
		first = append(first, markup)
	}
	return first
}

func moreLines(n int) string { return "… " + text.Count(n, "more line") }

// flat splits texts into lines and drops blank ones. It returns at least one line.
func flat(texts text.Lines) text.Lines {
	var lines text.Lines
	for _, t := range texts {
		lines = append(lines, slices.DeleteFunc(t.Lines(), blank)...)
	}
	if len(lines) == 0 {
		return text.Lines{text.New("Nothing to show")}
	}
	return lines
}

// blank reports whether a line shows nothing. It stops at the first visible character: hostile text may be long.
func blank(t text.Text) bool {
	return !slices.ContainsFunc(t, func(s text.Span) bool {
		return s.Kind != text.KindPlain || strings.TrimSpace(s.Text) != ""
	})
}

// partsWriter puts parts into blocks while there is room, and counts what is left out. Lines without buttons share
// blocks.
type partsWriter struct {
	lineBlocks

	maker *buttonMaker
	room  int  // characters
	most  int  // blocks
	rules bool // a line between the parts
	left  int  // lines there was no room for
}

// write returns the blocks of the parts.
func (w *partsWriter) write(parts []call.Part) []slack.Block {
	for i, p := range parts {
		if w.rules && i > 0 && w.left == 0 {
			w.flush()
			w.blocks = append(w.blocks, slack.NewDividerBlock())
		}
		w.line(p.Title)
		for _, r := range p.Rows {
			w.row(text.New("• ", r.Text), r.Do)
		}
		if p.More != nil {
			w.line(p.More)
		}
		w.row(nil, p.Do)
	}
	if w.left > 0 {
		w.add(moreLines(w.left))
	}
	w.flush()
	return w.blocks
}

// line adds a line without buttons.
func (w *partsWriter) line(t text.Text) {
	if markup := fit(t, maxRow); w.take(length(markup)+1, 1) {
		w.add(markup)
	}
}

// row adds a line with buttons: one stands beside it, several below. No text: only the buttons.
func (w *partsWriter) row(t text.Text, do []call.Suggestion) {
	made, without := w.maker.all(do)
	for _, line := range without {
		w.line(line)
	}
	if len(made) == 0 {
		if t != nil {
			w.line(t)
		}
		return
	}
	markup := ""
	if t != nil {
		markup = fit(t, maxRow)
	}
	if !w.take(length(markup)+weight(made...), 3) {
		return
	}
	w.flush()
	switch {
	case t == nil:
		w.blocks = append(w.blocks, actions(made...)...)
	case len(made) == 1:
		w.blocks = append(w.blocks, section(markup, made[0]))
	default:
		w.blocks = append(append(w.blocks, section(markup, nil)), actions(made...)...)
	}
}

// take reserves room, plus a block for the line that counts what is left out. After the first omission everything is
// left out: the most important rows come first.
func (w *partsWriter) take(characters, blocks int) bool {
	if w.left > 0 || w.room-characters < restRoom || len(w.blocks)+blocks+2 > w.most {
		w.left++
		return false
	}
	w.room -= characters
	return true
}

// part is a piece of a card's line. Where there is no room for all, those with the highest spare are left out first;
// those with 0 stay.
type part struct {
	text  text.Text
	spare int
}

// line is a line of a card, its parts with dots between them.
type line []part

// say adds a part that is always shown; nothing where there is nothing to say.
func (l *line) say(s text.Sentence, values ...any) { l.spare(0, s, values...) }

// spare adds a part that may be left out.
func (l *line) spare(spare int, s text.Sentence, values ...any) {
	if t := text.Newf(s, values...); len(t) > 0 && !blank(t) {
		*l = append(*l, part{t, spare})
	}
}

func (l line) text() text.Text {
	var all text.Lines
	for _, p := range l {
		all = append(all, p.text)
	}
	return text.Join(all, " · ")
}

// links reports whether the line has a link.
func (l line) links() bool {
	return slices.ContainsFunc(l, func(p part) bool {
		return slices.ContainsFunc(p.text, func(s text.Span) bool { return s.Kind == text.KindLink })
	})
}

// fitLines leaves parts out until the lines together have at most so many characters, and drops empty lines.
func fitLines(lines []line, most int) []line {
	for together(lines) > most {
		at, of, spare := -1, -1, 0
		for i, l := range lines {
			for j, p := range l {
				if p.spare > spare {
					at, of, spare = i, j, p.spare
				}
			}
		}
		if at < 0 {
			break
		}
		lines[at] = slices.Delete(slices.Clone(lines[at]), of, of+1)
	}
	return slices.DeleteFunc(lines, func(l line) bool { return len(l) == 0 })
}

// together counts the characters of lines as a person sees them.
func together(lines []line) (n int) {
	for _, l := range lines {
		for _, p := range l {
			n += visible(p.text) + len(" · ") - 1 // or the end of the line
		}
	}
	return n
}

// How many characters a client shows of what it writes itself, about.
const (
	shownClock = 8  // 03:01 AM
	shownTime  = 18 // Nov 28th 03:01 AM
	shownUser  = 15
)

// visible counts the characters of a line as a person sees them.
func visible(t text.Text) (n int) {
	for _, s := range t {
		switch s.Kind {
		case text.KindClock:
			n += shownClock
		case text.KindTime, text.KindAgo:
			n += shownTime
		case text.KindUser, text.KindChannel:
			n += shownUser
		default:
			n += length(s.Text)
		}
	}
	return n
}
