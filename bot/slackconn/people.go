package slackconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/slack-go/slack"
)

// People makes all replicas forget what they know about somebody when one of them hears that it is over.
type People interface {
	// PeopleMark is a word that changes when what Slack told about a user, or about ofGroups, is over.
	PeopleMark(ctx context.Context, of string) (string, error)
	// PeopleChanged changes that word.
	PeopleChanged(ctx context.Context, of string) error
}

// AllGroups stands for all user groups, where a user's id stands for the user.
const AllGroups = "groups"

// How long what Slack told about people is believed, without word that it is over; and how long to wait for that word: without it what is known
// counts, and changes are refused anyway because Redis is away.
const (
	PeopleCachedFor = 5 * time.Minute
	markTimeout     = 500 * time.Millisecond
)

// groupsAgain is how long to wait before Slack is asked again for its user groups after it refused: it answers 20 such questions a minute.
const groupsAgain = 3 * time.Second

// member is what users.info said of somebody.
type member struct {
	name string
	full bool
	at   time.Time
	mark string // from before it was asked
}

// groups are the workspace's user groups, as usergroups.list said.
type groups struct {
	asking sync.Mutex // held by who asks: the others wait for the answer

	mu      sync.Mutex
	members map[string][]string // by the group's id
	at      time.Time           // when they were read; zero: never
	mark    string              // from before they were asked for
	refused error               // the last time
	again   time.Time           // not to be asked before then
	logged  bool                // the log was told that they can't be read
}

// mark is the word of now; known is false when it can't be looked up.
func (s *Client) mark(ctx context.Context, of string) (mark string, known bool) {
	if s.people == nil {
		return "", true
	}
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	mark, err := s.people.PeopleMark(ctx, of)
	return mark, err == nil
}

// Member returns the user's name if he is a full member of the token's workspace: no guest, no stranger, no bot, not deactivated (users.info).
func (s *Client) Member(ctx context.Context, team, user string) (name string, full bool, err error) {
	self, err := s.Self(ctx)
	if err != nil {
		return "", false, err
	}
	if user == "" || team != "" && team != self.Team {
		return "", false, nil
	}
	mark, known := s.mark(ctx, user)
	s.mu.Lock()
	m, ok := s.members[user]
	s.mu.Unlock()
	if ok && time.Since(m.at) < PeopleCachedFor && (!known || m.mark == mark) {
		return m.name, m.full, nil
	}
	u, err := s.api.GetUserInfoContext(ctx, user)
	if ErrorName(err) == "user_not_found" {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("ask slack who %s is: %w", user, WithoutURL(err))
	}
	p, elsewhere := personOf(u), u.TeamID != "" && u.TeamID != self.Team
	m = member{name: p.Name, full: p.Outside == "" && !p.Deactivated && !elsewhere, at: time.Now(), mark: mark}
	s.mu.Lock()
	s.members[user] = m
	s.mu.Unlock()
	return m.name, m.full, nil
}

// UserName is how somebody is called (users.info). Nothing is kept of it: who may act is looked up when somebody acts.
func (s *Client) UserName(ctx context.Context, user string) (string, error) {
	u, err := s.api.GetUserInfoContext(ctx, user)
	if err != nil {
		return "", fmt.Errorf("ask slack who %s is: %w", user, WithoutURL(err))
	}
	return personOf(u).Name, nil
}

// Groups are those of the user groups that the user is in. After an error they are what was last known, which may be over.
func (s *Client) Groups(ctx context.Context, user string, of []string) (in []string, err error) {
	g := &s.groups
	mark, known := s.mark(ctx, AllGroups)
	if !g.fresh(mark, known) {
		err = s.askGroups(ctx, mark, known)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range of {
		if slices.Contains(g.members[id], user) {
			in = append(in, id)
		}
	}
	return in, err
}

// fresh reports whether what is known can be believed.
func (g *groups) fresh(mark string, known bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.at.IsZero() && time.Since(g.at) < PeopleCachedFor && (!known || g.mark == mark)
}

// askGroups asks for all user groups and their members, in one call, unless somebody else just did (usergroups.list).
func (s *Client) askGroups(ctx context.Context, mark string, known bool) error {
	g := &s.groups
	g.asking.Lock()
	defer g.asking.Unlock()
	if g.fresh(mark, known) {
		return nil
	}
	g.mu.Lock()
	refused, again := g.refused, g.again
	g.mu.Unlock()
	if refused != nil && time.Now().Before(again) {
		return refused
	}
	list, err := s.api.GetUserGroupsContext(ctx, slack.GetUserGroupsOptionIncludeUsers(true))
	if err != nil {
		err = fmt.Errorf("ask slack for its user groups: %w", WithoutURL(err))
	}
	if ctx.Err() != nil {
		return ctx.Err() // who asked has gone, which says nothing about Slack
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused, g.again = err, time.Now().Add(pauseAfter(err))
	g.logOnce(s.log, err)
	if err != nil {
		return err
	}
	g.members, g.at, g.mark = map[string][]string{}, time.Now(), mark
	for _, group := range list {
		g.members[group.ID] = group.Users
	}
	return nil
}

// pauseAfter is how long not to ask again after an error.
func pauseAfter(err error) time.Duration {
	if limited := (*slack.RateLimitedError)(nil); errors.As(err, &limited) {
		return min(max(limited.RetryAfter, groupsAgain), PeopleCachedFor)
	}
	return groupsAgain
}

// say tells the log once that the groups can't be looked up, and once that they can again. The caller holds mu.
func (g *groups) logOnce(log *slog.Logger, err error) {
	switch failing := err != nil; {
	case failing == g.logged:
		return
	case failing:
		t, ok := Explain(err)
		if !ok {
			t = Trouble{Text: "no answer", Fix: fixLater}
		}
		log.Error("user groups can't be looked up: who has a role only by one may change nothing", "why", t.Text, "mend", t.Fix, "err", err)
	default:
		log.Info("user groups can be looked up again")
	}
	g.logged = !g.logged
}

// PeopleChanged drops what is known about somebody here at once, and by the shared word everywhere.
func (s *Client) PeopleChanged(ctx context.Context, of string) error {
	if of == AllGroups {
		s.groups.mu.Lock()
		s.groups.at = time.Time{}
		s.groups.mu.Unlock()
	} else {
		s.mu.Lock()
		delete(s.members, of)
		s.mu.Unlock()
	}
	if s.people == nil {
		return nil
	}
	if err := s.people.PeopleChanged(ctx, of); err != nil {
		return fmt.Errorf("tell the other replicas that %s changed: %w", of, err)
	}
	return nil
}
