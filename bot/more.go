package bot

import (
	"context"
	"fmt"
	"slices"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// openMore lists what else who asks may do about an attack.
func (in *ingress) openMore(req request, text string) {
	in.showView(req, text, readsAttack, func(ctx context.Context, line record.Line) (slack.ModalViewRequest, error) {
		account := line.Keys["account"]
		if account == "" || len(line.Words) == 0 {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: no attack in %q", line.String())
		}
		read := req.Invocation
		read.Line = readsAttack(line)
		if err := in.Runner.May(ctx, read); err != nil {
			return slack.ModalViewRequest{}, err
		}
		s, known, err := in.Notifier.Drawn(ctx, account, line.Words[0])
		if err != nil {
			return slack.ModalViewRequest{}, refusal.Away(err)
		}
		if !known {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: attack %s isn't known", line.Words[0])
		}
		groups, left := in.permitted(ctx, req, s)
		return card.MoreView(words.Line(s, efficacy.Headline(s)), groups, left, req.meta())
	})
}

// readsAttack is the line that shows the attack of a menu: who may not run it gets no menu.
func readsAttack(line record.Line) record.Line {
	return record.Line{Name: "attack", Words: line.Words[:min(1, len(line.Words))]}.With("account", line.Keys["account"])
}

// permitted is what else can be done about an attack, as far as who asks may do it, and in words what is left out.
func (in *ingress) permitted(ctx context.Context, req request, s call.Situation) (groups []advice.Group,
	left text.Text) {
	groups = advice.More(s)
	var lines []record.Line
	for _, g := range groups {
		for _, do := range g.Do {
			lines = append(lines, do.Line)
		}
	}
	may, left := in.Runner.Permitted(ctx, req.Invocation, s.Account.Name, lines)
	for i, g := range groups {
		groups[i].Do = slices.DeleteFunc(g.Do, func(call.Suggestion) bool {
			no := !may[0]
			may = may[1:]
			return no
		})
	}
	return slices.DeleteFunc(groups, func(g advice.Group) bool { return len(g.Do) == 0 }), left
}
