package card

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

// Kinds of views, used as their callback ids.
const (
	ViewForm    = "form"    // fields to fill in
	ViewAsk     = "anyway"  // warnings about a line: go on, or cancel
	viewLoading = "loading" // until the facts are read
	viewAnswer  = "answer"  // the result
)

// Limits of views, in characters.
const (
	maxViewTitle   = 24
	maxFieldLabel  = 150
	MaxFieldHint   = 300
	maxOption      = 75
	maxFieldText   = 3_000 // written into one field
	maxViewMeta    = 3_000
	maxOptionGroup = 100
)

// ViewMeta is the private metadata of a view.
type ViewMeta struct {
	Line    string `json:"line"` // the line without the form's fields; of ViewAsk the whole line
	Attack  string `json:"attack,omitempty"`
	Account string `json:"account,omitempty"` // of the channel where it was opened
	Channel string `json:"channel,omitempty"` // where it was opened
	Thread  string `json:"thread,omitempty"`
	Answer  string `json:"answer,omitempty"` // response address of the request that opened it
	Home    bool   `json:"home,omitempty"`   // it was opened in the Home tab

	Asked time.Time `json:"asked,omitzero"` // of ViewAsk: when the question was asked
}

// FormView draws a form.
func FormView(f call.Form, m ViewMeta) (slack.ModalViewRequest, error) {
	m.Line, m.Attack = f.Base.String(), f.Attack
	var blocks []slack.Block
	if len(f.Intro) > 0 {
		blocks = sections(f.Intro, maxTogether/2)
	}
	for _, field := range f.Fields {
		blocks = append(blocks, inputOf(field))
	}
	v, err := modal(ViewForm, f.Title, m, blocks)
	v.Submit = plainText(f.Submit, maxViewTitle)
	return v, err
}

// AskView is Ask as a modal.
func AskView(r *refusal.Refusal, m ViewMeta) (slack.ModalViewRequest, error) {
	m.Line = r.Line.String()
	v, err := modal(ViewAsk, "Before you do", m, sections(text.Lines{r.Text}, maxTogether))
	v.Submit, v.Close = plainText("Do it anyway", maxViewTitle), plainText("Cancel", maxViewTitle)
	return v, err
}

// LoadingView is shown while the facts for a view are read.
func LoadingView(m ViewMeta) (slack.ModalViewRequest, error) {
	return modal(viewLoading, "wafbot", m, sections(text.Lines{text.New("Loading …")}, maxTogether))
}

// AnswerView shows the result of a request in the view that it was made in.
func AnswerView(msg Message, m ViewMeta) (slack.ModalViewRequest, error) {
	return modal(viewAnswer, "wafbot", m, msg.Blocks)
}

// MoreView lists what else can be done about an attack, in groups, and in small print what is left out; nil: nothing
// is. Each button replaces the view with its form.
func MoreView(head text.Text, groups []advice.Group, left text.Text, m ViewMeta) (slack.ModalViewRequest, error) {
	small, _ := inSmall(left) // shorter than what the head leaves
	blocks := sections(text.Lines{head}, maxTogether/4)
	var maker buttonMaker
	for _, g := range groups {
		blocks = append(blocks, section(mrkdwn(text.Lead(g.Title)), nil))
		for _, s := range g.Do {
			line, button := text.New(s.Stops), maker.suggestion(s)
			if button == nil {
				line = toType(s)
			}
			blocks = append(blocks, section(fit(line, maxCardLine), button))
		}
	}
	return modal(viewAnswer, "More", m, append(blocks, small...))
}

func modal(kind, title string, m ViewMeta, blocks []slack.Block) (slack.ModalViewRequest, error) {
	meta, err := json.Marshal(m)
	if err != nil {
		return slack.ModalViewRequest{}, fmt.Errorf("write view: %w", err)
	}
	if len(meta) > maxViewMeta {
		return slack.ModalViewRequest{}, fmt.Errorf("write view: what it carries is over %d bytes", maxViewMeta)
	}
	return slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: kind, PrivateMetadata: string(meta), Title: plainText(title, maxViewTitle),
		Close:  plainText("Close", maxViewTitle),
		Blocks: slack.Blocks{BlockSet: blocks},
	}, nil
}

// inputOf draws a field. Its block id and action id are the field's name.
func inputOf(f call.Field) *slack.InputBlock {
	var hint *slack.TextBlockObject
	if f.Hint != "" {
		hint = plainText(f.Hint, MaxFieldHint)
	}
	b := slack.NewInputBlock(f.Name, plainText(f.Label, maxFieldLabel), hint, elementOf(f))
	b.Optional = !f.Required
	return b
}

func elementOf(f call.Field) slack.BlockElement {
	options, groups := optionsOf(f)
	chosen, choose := chosenOptions(f), plainText("Choose …", maxFieldLabel)
	one := &slack.SelectBlockElement{Type: slack.OptTypeStatic, ActionID: f.Name, Placeholder: choose, Options: options,
		OptionGroups: groups}
	switch f.Kind {
	case call.FieldOne:
		if len(chosen) > 0 {
			one.InitialOption = chosen[0]
		}
		return one
	case call.FieldMany:
		return &slack.MultiSelectBlockElement{Type: slack.MultiOptTypeStatic, ActionID: f.Name, Placeholder: choose,
			Options: options, OptionGroups: groups, InitialOptions: chosen}
	case call.FieldUser:
		one.Type = slack.OptTypeUser
		if len(f.Values) > 0 && strings.HasPrefix(f.Values[0], "U") {
			one.InitialUser = f.Values[0]
		}
		return one
	}
	words := slack.NewPlainTextInputBlockElement(nil, f.Name)
	words.Multiline, words.MaxLength = f.Kind == call.FieldLines, maxFieldText
	written := strings.Join(f.Values, " ")
	unreadable := func(line string) bool { return text.Sanitize(line, maxFieldText) != line }
	if length(written) <= maxFieldText && !slices.ContainsFunc(strings.Split(written, "\n"), unreadable) {
		words.InitialValue = written
	}
	return words
}

// optionsOf are a field's choices, grouped if they have headings or are over a hundred.
func optionsOf(f call.Field) (plain []*slack.OptionBlockObject, groups []*slack.OptionGroupBlockObject) {
	for _, o := range f.Options {
		if len(o.Value) > maxOption {
			continue // too long to be chosen: it must be typed
		}
		option := optionOf(o)
		if o.Group == "" {
			plain = append(plain, option)
			continue
		}
		last := len(groups) - 1
		if last < 0 || groups[last].Label.Text != o.Group || len(groups[last].Options) == maxOptionGroup {
			groups = append(groups, slack.NewOptionGroupBlockElement(plainText(o.Group, maxOption)))
			last++
		}
		groups[last].Options = append(groups[last].Options, option)
	}
	if len(plain) <= maxOptionGroup {
		return plain, groups
	}
	for some := range slices.Chunk(plain, maxOptionGroup) {
		from := len(groups)*maxOptionGroup + 1
		groups = append(groups, slack.NewOptionGroupBlockElement(plainText(fmt.Sprintf("%d to %d", from, from+len(some)-1),
			maxOption), some...))
	}
	return nil, groups
}

// optionOf is one choice. What its first line has no room for goes on in the second, Slack's description.
func optionOf(o call.Option) *slack.OptionBlockObject {
	label := text.Sanitize(cmp.Or(o.Label, o.Value), 2*maxOption)
	var more *slack.TextBlockObject
	if first := text.First(label, maxOption); first != label {
		if end := strings.LastIndexByte(first, ' '); end > 0 {
			label, more = label[:end], plainText(label[end+1:], maxOption)
		}
	}
	return slack.NewOptionBlockObject(o.Value, plainText(label, maxOption), more)
}

func chosenOptions(f call.Field) (chosen []*slack.OptionBlockObject) {
	for _, o := range f.Options {
		if slices.Contains(f.Values, o.Value) && len(o.Value) <= maxOption {
			chosen = append(chosen, optionOf(o))
		}
	}
	return chosen
}

// Limits of a Home tab: Slack takes 100 blocks and 250 kB. The answer to a click needs some of the blocks.
const (
	maxHomeBlocks = 90
	maxHomeText   = 40_000
)

// Home draws a Home tab, the worst first.
func Home(h report.Home) []slack.Block {
	w := partsWriter{maker: &buttonMaker{}, room: maxHomeText, most: maxHomeBlocks, rules: true}
	head := text.Newf("wafbot is %v · as of %v", h.Policies(), h.Now)
	blocks := []slack.Block{section(mrkdwn(head), w.maker.refresh())}
	blocks = append(blocks, w.write(h.Parts(true))...)
	foot := text.Newf("Your role: %v. Under Messages you can type `help`", h.Roles())
	return append(blocks, slack.NewContextBlock("", markupText(mrkdwn(foot))))
}

func (m *buttonMaker) refresh() *slack.ButtonBlockElement {
	return m.button(ActionRefresh, "Refresh", "refresh")
}

// HomeUnavailable is the Home tab shown when its facts can't be read.
func HomeUnavailable(why ...text.Text) []slack.Block {
	return linesAbove(why, []*slack.ButtonBlockElement{new(buttonMaker).refresh()})
}

// Renumber gives each button a unique id again after blocks of two messages were joined.
func Renumber(blocks []slack.Block) []slack.Block {
	for i, b := range buttonsOf(blocks) {
		kind, _, _ := strings.Cut(b.ActionID, ":")
		b.ActionID = fmt.Sprintf("%s:%d", kind, i+1)
	}
	return blocks
}

// maxNamed is how many of each role are named.
const maxNamed = 10

// Roles lists who has which role; show draws an id. A mention notifies in a channel, and not in a Home tab.
func Roles(r config.Policy, show func(id string) text.Text) text.Text {
	words := text.New("")
	for _, role := range []struct {
		name string
		ids  []string
	}{{"admins ", r.Admins}, {"; responders ", r.Responders}, {"; viewers ", r.Viewers}} {
		words.Addf("%v", role.name)
		if len(role.ids) == 0 {
			words.Addf("none")
		}
		words.Addf("%v", text.Enumerate(role.ids, maxNamed, func(id string) text.Text {
			if id == "*" {
				return text.New("everyone in the workspace")
			}
			return show(id)
		}))
	}
	return words
}
