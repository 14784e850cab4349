// Package doctor checks whether everything is there that the bot needs: the configuration, Slack, the accounts and
// Redis. It says how to fix what isn't. It changes nothing: it posts only with --post, and in Redis it writes only a
// key that expires within a minute.
package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

const (
	answerTimeout = 10 * time.Second // for one answer, unless Options.Patience says otherwise
	totalTimeout  = time.Minute      // for all of them, and as long again for each hundred accounts
	slowAfter     = 2 * time.Second  // an answer that takes longer is a warning
)

// Options say what to check.
type Options struct {
	Config   string        // the configuration file; "": WAFBOT_CONFIG, else the environment alone
	Environ  []string      // as os.Environ gives it
	Account  string        // check of the accounts this one alone; "": all
	Post     bool          // post a test card to the channel of each route
	Patience time.Duration // how long to wait for one answer; 0: 10 s
}

// State says how bad a finding is.
type State string

// The states, worst first.
const (
	Wrong State = "wrong" // must be fixed
	Warn  State = "warn"  // works, but perhaps not as meant
	Note  State = "note"  // can't be known from here, or merely worth knowing
	OK    State = "ok"
)

// Finding is what was found out about one thing.
type Finding struct {
	Check   string `json:"check"`   // what kind of thing: version, config, redis, slack, scope, channel, people, account, route, pager, post
	Subject string `json:"subject"` // which one, with its id
	State   State  `json:"state"`
	Text    string `json:"text"`
	Fix     string `json:"fix"` // "": nothing to do
}

// of is the finding, said of a thing.
func (f Finding) of(check, subject string) Finding {
	f.Check, f.Subject = check, subject
	return f
}

// findings are what was found out, in the order of the checks.
type findings []Finding

func (f *findings) add(check, subject string, state State, said, fix string) {
	*f = append(*f, Finding{check, subject, state, said, fix})
}

// warn adds what is allowed in the configuration, but perhaps not meant.
func (f *findings) warn(key, said, fix string) { f.add("config", key, Warn, said, fix) }

// Report is everything found, the worst first. Its texts are safe to print.
type Report struct {
	OK       bool      `json:"ok"` // nothing is wrong
	Findings []Finding `json:"findings"`
}

// Run checks everything. It fails only if ctx ends before: some findings would look like all.
func Run(ctx context.Context, o Options) (Report, error) {
	found := examine(ctx, o)
	if ctx.Err() != nil {
		return Report{}, errors.New("stopped before everything was checked")
	}
	const longest = 1_000 // characters; it holds names from Slack and from the service
	for i := range found {
		for _, part := range []*string{&found[i].Subject, &found[i].Text, &found[i].Fix} {
			*part = text.Sanitize(*part, longest)
		}
	}
	worst := []State{Wrong, Warn, Note, OK}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return slices.Index(worst, a.State) - slices.Index(worst,
			b.State)
	})
	return Report{OK: len(found) == 0 || found[0].State != Wrong, Findings: found}, nil
}

// Print writes the findings for people.
func (r Report) Print(out io.Writer) {
	for _, f := range r.Findings {
		label := string(f.State)
		if f.State == Wrong {
			label = strings.ToUpper(label)
		}
		fmt.Fprintf(out, "%-5s %s: %s\n", label, strings.TrimSpace(f.Check+" "+f.Subject), f.Text)
		if f.Fix != "" {
			fmt.Fprintf(out, "      → %s\n", f.Fix)
		}
	}
}

// Err is nil if nothing is wrong.
func (r Report) Err() error {
	n := 0
	for _, f := range r.Findings {
		if f.State == Wrong {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return errors.New("1 thing is wrong; fix it and run doctor again")
	}
	return fmt.Errorf("%d things are wrong; fix them, the first one first, and run doctor again", n)
}

// checkup is one run over a configuration that could be read.
type checkup struct {
	*config.Config
	clocks   *clock.Clocks
	patience time.Duration // for one answer
	post     bool
}

// tenant is the checkup of one account.
type tenant struct {
	checkup
	*config.Account
	key string // of the account: accounts[0]
}

// examine checks everything at the same time. A failed check hides no other one, and the order of findings doesn't
// depend on which answer comes first.
func examine(ctx context.Context, o Options) findings {
	cfg, err := config.Load(o.Config, o.Environ)
	if err != nil {
		return append(configProblems(err), Finding{Check: "config", State: Note,
			Text: "nothing else was checked: that takes a configuration that can be read"})
	}
	ctx, cancel := context.WithTimeout(ctx, totalTimeout*time.Duration(1+len(cfg.Accounts)/100))
	defer cancel()
	c := checkup{cfg, clock.New(), cmp.Or(o.Patience, answerTimeout), o.Post}
	var checks []check
	if o.Account == "" {
		checks = []check{c.config, c.redis, c.pagers, c.slack, c.ingress}
	}
	for key, a := range c.ByKey() {
		if o.Account == "" || o.Account == a.Name {
			checks = append(checks, tenant{c, a, key}.check)
		}
	}
	if len(checks) == 0 {
		return findings{c.unknownAccount(o.Account)}
	}
	return asWritten(cfg, together(ctx, checks...))
}

// asWritten names keys as the operator wrote them.
func asWritten(cfg *config.Config, found findings) findings {
	for i, f := range found {
		found[i].Subject = cmp.Or(cfg.Variable(f.Subject), cfg.AsWritten(f.Subject))
		found[i].Text, found[i].Fix = cfg.AsWritten(f.Text), cfg.AsWritten(f.Fix)
	}
	return found
}

// atOnce is how many things of a kind are checked at the same time: a thousand accounts at once would look like an
// attack to the service.
const atOnce = 32

// sideBySide checks many things at the same time and keeps their order.
func sideBySide[T any](things []T, check func(T) findings) findings {
	found := make([]findings, len(things))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, thing := range things {
		g.Go(func() error {
			found[i] = check(thing)
			return nil
		})
	}
	_ = g.Wait() // none fails
	return slices.Concat(found...)
}

type check func(context.Context) findings

// together makes different checks at the same time.
func together(ctx context.Context, checks ...check) findings {
	return sideBySide(checks, func(c check) findings { return c(ctx) })
}

// say is what is found out about a thing that the caller names.
func say(is State, said, fix string) Finding { return Finding{"", "", is, said, fix} }

// wrong is what is wrong with it.
func wrong(said, fix string) Finding { return say(Wrong, said, fix) }

// networkTrouble is an error on the way to a host: no answer came, or not one of that service.
func networkTrouble(err error, host, key string) Finding {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return wrong("the host "+dns.Name+" can't be found", "check "+key+", and this machine's name service")
	case errors.As(err, &certificate):
		return wrong(fmt.Sprintf("the certificate of %s isn't trusted: %v", host, certificate.Err),
			"fix the certificate, or check for a proxy in between")
	case errors.Is(err, syscall.ECONNREFUSED):
		return wrong("nothing listens at "+host, "check "+key+", and whether it runs there")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) &&
		timeout.Timeout():
		return wrong(host+" gave no answer in time", "check the way there: firewall, proxy, name service")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wrong(host+" broke the connection off", "try again; if it stays so, check firewalls and proxies on the way")
	}
	return wrong(fmt.Sprintf("no answer that can be understood from %s: %v", host, err),
		"check "+key+": what answers there may be something else")
}

// slackTrouble is an error of a call to Slack.
func (c checkup) slackTrouble(err error) Finding {
	if t, ok := slackconn.Explain(err); ok {
		return wrong(t.Text, t.Fix)
	}
	return networkTrouble(err, hostOf(c.Slack.APIURL), "slack.api_url")
}

// trouble is an error of a call to the service. do is what the call was for: "read attacks".
func (t tenant) trouble(err error, do string) Finding {
	e, ok := errors.AsType[*apiclient.Error](err)
	if !ok {
		return wrong(err.Error(), "check "+t.key)
	}
	url, said := t.key+".api_url", ""
	if e.Status != 0 {
		said = fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Message != "" {
		said = fmt.Sprintf(" (status %d: %s)", e.Status, e.Message)
	}
	switch e.Kind {
	case apiclient.Unauthenticated:
		where := t.key + ".token"
		if t.TokenFile != "" {
			where = t.TokenFile + ", which wafbot reads again by itself"
		}
		return wrong("the service doesn't accept the token"+said,
			"make a new token in the service's console and put it into "+where)
	case apiclient.Forbidden:
		return wrong("the token may not "+do+said, "give the token's user the permission to "+do+", in the service's console")
	case apiclient.RateLimited:
		return wrong("the service takes no more requests just now, to "+do+said,
			"wait a minute and try again; if it stays so, raise "+t.key+".poll_interval")
	case apiclient.Locked:
		return wrong("the service has locked its rules just now"+said, "wait a minute and try again")
	case apiclient.Network:
		return networkTrouble(err, hostOf(t.APIURL), url)
	case apiclient.NotFound:
		return wrong("the service doesn't know how to "+do+said, "check "+url+": it is the base address of your cloud")
	case apiclient.Server:
		return wrong("the service failed to "+do+said,
			"try again in a minute; if it stays so, check "+url+" and ask the service's support")
	}
	return wrong("the service refuses to "+do+": "+e.Error(), "check "+url+" and client_id")
}
