package doctor

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/nearest"
	"github.com/wafbot/wafbot/internal/text"
)

// unknownAccount says that there is no account of a name, and which one was probably meant.
func (c checkup) unknownAccount(name string) Finding {
	fix := "write one of the names that wafbot config show lists"
	if meant := nearest.Word(name, c.names(), len(name)/3+1); meant != "" {
		fix = fmt.Sprintf("did you mean %s?", meant)
	}
	return Finding{"account", name, Wrong, "the configuration has no such account", fix}
}

// check checks whose token an account has, and what it can read.
func (t tenant) check(ctx context.Context) (found findings) {
	api, err := apiclient.New(apiclient.Config{
		BaseURL: t.APIURL, Token: t.Token, TokenFile: t.TokenFile, ClientID: t.ClientID,
		HTTP: &http.Client{Timeout: t.patience}, Tries: 1, Note: t.clocks.Service(t.Name).Note, // a second try would hide faults
	})
	if err != nil {
		return findings{{"account", t.Name, Wrong, err.Error(), "fix " + t.key}}
	}
	begun := time.Now()
	user, err := api.User(ctx)
	if err != nil {
		found.add("account", t.Name, Note, "what else the token may do was not checked: its owner comes first", "")
		return append(found, t.trouble(err, "read its own user").of("account", t.Name))
	}
	found = findings{t.owner(user)}
	found.tookLong("account", t.Name+" (POST /v1/user)", begun)
	found = append(found, t.reads(ctx, api)...)
	found.add("account", t.Name, Note, "can change: unknown until the first change is made, for doctor makes none", "")
	return found
}

// owner compares the token's owner with what is configured.
func (t tenant) owner(user apiclient.User) Finding {
	client := fmt.Sprintf("client %d %s", user.ClientID, user.ClientName)
	f := say(OK, "the token is of "+client, "")
	switch {
	case !user.Enabled:
		f = wrong("the token's user is disabled, at "+client,
			"enable the user in the service's console, or make a token of another one")
	case t.ClientID != 0 && user.ClientID != 0 && t.ClientID != user.ClientID:
		f = wrong(fmt.Sprintf("%s, but %s.client_id is %d", f.Text, t.key, t.ClientID),
			fmt.Sprintf("write client_id: %d, or the token of client %d", user.ClientID, t.ClientID))
	}
	return f.of("account", t.Name)
}

// need is one thing that the bot must be able to read.
type need struct {
	what, endpoint string
	first          func() error // one call
}

// The attacks whose applications are compared with the configured ones.
const (
	seenWithin = 24 * time.Hour
	seenOf     = 1000 // the latest ones at most
)

// reads makes one call for each thing that the bot must be able to read.
func (t tenant) reads(ctx context.Context, api *apiclient.Client) findings {
	var latest apiclient.AttackPage
	all := []need{
		{"attacks", "POST /v1/objects/attack", func() error {
			return first(api.Attacks(ctx, apiclient.AttackFilter{From: t.clocks.ServiceNow(t.Name).Add(-seenWithin),
				PageSize: seenOf}), &latest)
		}},
		{"vulnerabilities", "POST /v1/objects/vuln", func() error { return first(api.Vulnerabilities(ctx, false), nil) }},
		{"IP lists", "GET /v4/ip_rules", func() error { return first(api.IPRules(ctx, ""), nil) }},
		{"rules", "POST /v1/objects/hint", func() error { return first(api.Rules(ctx, 0), nil) }},
		{"conditions", "POST /v1/objects/action", func() error { return first(api.ConditionSets(ctx), nil) }},
	}
	found := sideBySide(all, func(r need) (found findings) {
		subject := fmt.Sprintf("%s (%s)", t.Name, r.endpoint)
		begun := time.Now()
		if err := r.first(); err != nil {
			return findings{t.trouble(err, "read "+r.what).of("account", subject)}
		}
		found.add("account", subject, OK, "may read "+r.what, "")
		found.tookLong("account", subject, begun)
		return found
	})
	if off, known := t.clocks.Offsets().Services[t.Name]; known {
		found = append(found, clockApart(off).of("account", t.Name))
	}
	return append(found, t.applications(latest.Attacks)...)
}

// first reads the first page of a listing: one call. It puts what comes first into a place, unless that is nil.
func first[T any](listing iter.Seq2[T, error], into *T) error {
	for item, err := range listing {
		if into != nil {
			*into = item
		}
		return err
	}
	return nil
}

// clockApart compares a clock with this machine's, by how far it is ahead. Ends are reckoned by the service's clock,
// and ages by Redis'.
func clockApart(off time.Duration) Finding {
	if off.Abs() <= clock.Tolerance {
		return say(OK, "its clock agrees with this machine's within "+text.Duration(clock.Tolerance), "")
	}
	return say(Warn, "its clock is off this machine's by "+text.Duration(off.Abs().Round(time.Second)),
		"set this machine's clock, or that one (NTP)")
}

// applications compares the ids seen in attacks with those that have a name.
func (t tenant) applications(attacks []apiclient.Attack) (found findings) {
	hits := map[int]int{}
	for _, attack := range attacks {
		if attack.App.Known {
			hits[int(attack.App.N)]++
		}
	}
	var unnamed, unseen []string
	for _, id := range slices.Sorted(maps.Keys(hits)) {
		if t.Applications[id].Name == "" {
			unnamed = append(unnamed, fmt.Sprintf("%d (%d)", id, hits[id]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.Applications)) {
		if hits[id] == 0 {
			unseen = append(unseen, strings.TrimSpace(fmt.Sprint(id, " ", t.Applications[id].Name)))
		}
	}
	if len(unnamed) > 0 {
		found.add("account", t.Name, Note, "applications without a name, with their attacks of the last 24 h: "+strings.Join(unnamed, ", "),
			"name them in the configuration file, in the account's applications: cards show the name")
	}
	if len(unseen) > 0 {
		found.add("account", t.Name, Note, "applications with a name, but without an attack in the last 24 h: "+strings.Join(unseen, ", "),
			"check their ids if you expected attacks there")
	}
	return found
}

// pagers checks whether something answers at the address of each pager, each once. It calls none: that would wake
// people.
func (c checkup) pagers(ctx context.Context) findings {
	asked := map[apiclient.Secret]bool{}
	var checks []check
	for key, r := range c.Routes() {
		if r.Page != nil && !asked[r.Page.URL] {
			asked[r.Page.URL] = true
			checks = append(checks, func(ctx context.Context) findings {
				return findings{c.answers(ctx, r.Page.URL, c.SecretKey(key+".page.url")).of("pager", key+".page")}
			})
		}
	}
	return together(ctx, checks...)
}

// answers asks whether something answers at an address. It sends a bare HEAD request, without the address's query: some
// pagers have their key there.
func (c checkup) answers(ctx context.Context, address apiclient.Secret, key string) Finding {
	host := hostOf(address.Reveal())
	bare, _, _ := strings.Cut(address.Reveal(), "?")
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, bare, http.NoBody)
	if err != nil {
		return wrong("it has no web address", "check "+key)
	}
	client := apiclient.WithoutRedirects(nil)
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return networkTrouble(apiclient.WithoutURL(err), host, key)
	}
	_ = res.Body.Close() // it has none
	if res.StatusCode/100 == 3 {
		return say(Warn, fmt.Sprintf("%s sends wafbot elsewhere (status %d), which isn't followed", host, res.StatusCode),
			"check "+key)
	}
	return say(OK, host+" answers; whether it takes what it is sent shows only then", "")
}
