package card

import (
	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/text"
)

// Characters of one row, and those kept for saying that rows are left out.
const (
	maxRow   = 400
	restRoom = 40
)

// partsMessage is an answer in parts, each row with its buttons beside it.
func partsMessage(res call.Result) Message {
	w := partsWriter{maker: &buttonMaker{}, room: maxTogether, most: maxBlocks}
	return Message{Text: answerText(res.Lines), Blocks: w.write(res.Parts)}
}

// partsWriter puts parts into blocks while there is room, and counts what is left out. Lines without buttons share blocks.
type partsWriter struct {
	maker  *buttonMaker
	room   int  // characters
	most   int  // blocks
	rules  bool // a line between the parts
	blocks []slack.Block
	text   string // lines that wait for their block
	left   int    // lines there was no room for
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
	var made []*slack.ButtonBlockElement
	for _, s := range do {
		b, ok := w.maker.suggestion(s)
		if !ok {
			w.line(toType(s))
			continue
		}
		made = append(made, b)
	}
	switch {
	case t == nil && len(made) == 0:
		return
	case len(made) == 0:
		w.line(t)
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
		w.blocks = append(w.blocks, actions(made))
	case len(made) == 1:
		w.blocks = append(w.blocks, section(markup, made[0]))
	default:
		w.blocks = append(w.blocks, section(markup, nil), actions(made))
	}
}

// take reserves room, plus a block for the line that counts what is left out. After the first omission everything is left out: the most important
// rows come first.
func (w *partsWriter) take(characters, blocks int) bool {
	if w.left > 0 || w.room-characters < restRoom || len(w.blocks)+blocks+2 > w.most {
		w.left++
		return false
	}
	w.room -= characters
	return true
}

func (w *partsWriter) add(markup string) {
	if w.text != "" && length(w.text)+1+length(markup) > maxText {
		w.flush()
	}
	if w.text != "" {
		w.text += "\n"
	}
	w.text += markup
}

func (w *partsWriter) flush() {
	if w.text != "" {
		w.blocks = append(w.blocks, section(w.text, nil))
		w.text = ""
	}
}
