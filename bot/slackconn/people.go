package slackconn

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"
)

// People invalidates the replicas' caches of users and user groups. An interface because tests need versions that can't
// be read, and one of another replica.
type People interface {
	// PeopleMark is the cache version of a user, or of AllGroups.
	PeopleMark(ctx context.Context, of string) (string, error)
	// PeopleChanged sets another version.
	PeopleChanged(ctx context.Context, of string) error
}

// AllGroups stands for all user groups in place of a user's id.
const AllGroups = "groups"

// How long users and groups are cached, and how long to wait for their version. Without it the cache counts: Redis is
// unreachable then, and changes are refused anyway.
const (
	PeopleCachedFor = 5 * time.Minute
	markTimeout     = 500 * time.Millisecond
)

// groupsAgain is the pause after Slack refused to list its user groups: it answers 20 such calls a minute.
const groupsAgain = 3 * time.Second

// cached says when something was read, and at which version.
type cached struct {
	at   time.Time // zero: never
	mark string    // version before the call
}

// fresh reports whether it is still valid.
func (c cached) fresh(mark string, known bool) bool {
	return !c.at.IsZero() && time.Since(c.at) < PeopleCachedFor && (!known || c.mark == mark)
}

// maxMembers is how many users are cached. Anybody in a channel can become one of them.
const maxMembers = 10_000

// member is what users.info says of a user.
type member struct {
	cached
	Person
}

// groups are the workspace's user groups.
type groups struct {
	changed atomic.Bool // since they were cached

	mu sync.Mutex // held during the call: other callers wait for its answer
	cached
	all     map[string]Group // by id
	refused error            // by the last call
	again   time.Time        // when to ask again
	logged  bool             // it was logged that they can't be read
}

// mark is the current version; known is false if it can't be read.
func (s *Client) mark(ctx context.Context, of string) (mark string, known bool) {
	if s.People == nil {
		return "", true
	}
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	mark, err := s.People.PeopleMark(ctx, of)
	return mark, err == nil
}

// Member returns the user's name, the id of the token's workspace if the user is one of its users, else "", and whether
// he is a full member there: no guest, no member of another workspace, no bot, not deactivated (users.info). team is
// the user's by what Slack delivered; "": it didn't say. In an Enterprise Grid that may be another workspace than the
// token's, of which the user is a member all the same. After an error they are what was last known; of whom nothing is,
// the workspace is that of the delivery where it is the token's.
func (s *Client) Member(ctx context.Context, team, user string) (name, workspace string, full bool, err error) {
	defer func() {
		if err != nil {
			s.unknown.Do(func() { s.Log.Warn("look up member", "user", user, "err", err) })
		}
	}()
	self, err := s.Self(ctx)
	if err != nil {
		return "", "", false, err
	}
	if user == "" || team != "" && team != self.Team && self.Enterprise == "" {
		return "", "", false, nil
	}
	p, err := s.person(ctx, user)
	switch {
	case p.full(self, team):
		return p.Name, self.Team, true, err
	case err != nil && team == self.Team && p.Outside == outsideUnknown, err == nil && p.Outside == "guest" &&
		p.team == self.Team:
		return p.Name, self.Team, false, err
	}
	return p.Name, "", false, err
}

// unknownAgain is the pause before it is logged again that Slack doesn't say who somebody is: anybody in a channel can
// have it asked.
const unknownAgain = time.Minute

// person is what is known of a user. What users.info says doesn't depend on where a delivery came from, so the id alone
// is its key. After an error it is what was last known, unless an event has said since that it changed.
func (s *Client) person(ctx context.Context, user string) (Person, error) {
	mark, known := s.mark(ctx, user)
	s.mu.Lock()
	m, ok := s.members[user]
	s.mu.Unlock()
	if ok && m.fresh(mark, known) {
		return m.Person, nil
	}
	p, err := s.Person(ctx, user)
	switch {
	case ErrorName(err) == "user_not_found":
		return Person{Outside: outsideUnknown}, nil
	case err != nil && ok && (!known || m.mark == mark):
		return m.Person, err
	case err != nil:
		return Person{Outside: outsideUnknown}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.members) >= maxMembers {
		clear(s.members)
	}
	s.members[user] = member{cached{time.Now(), mark}, p}
	return p, nil
}

// outsideUnknown is a person whom wafbot knows nothing about.
const outsideUnknown = "unknown"

// Person is a user of the workspace.
type Person struct {
	Name        string
	Deactivated bool
	Outside     string   // "guest", "bot" or "member of another workspace": has no role; "": a full member
	team        string   // id; "": Slack didn't say
	enterprise  string   // id of the user's Enterprise Grid; "": none
	workspaces  []string // ids of those in it that the user is a member of
}

// full reports whether a user is a full member of the token's workspace, whose team is the given one by what Slack
// delivered.
func (p Person) full(self Identity, delivered string) bool {
	ours := delivered == "" || delivered == self.Team || delivered == self.Enterprise
	if p.Outside != "" || p.Deactivated || !ours && delivered != p.team && !slices.Contains(p.workspaces, delivered) {
		return false // the last: it is of another user with the same id
	}
	if self.Enterprise != "" && p.enterprise == self.Enterprise && slices.Contains(p.workspaces, self.Team) {
		return true
	}
	return cmp.Or(p.team, delivered, self.Team) == self.Team
}

// Person looks up a user by id (users.info). It is not cached.
func (s *Client) Person(ctx context.Context, id string) (Person, error) {
	u, err := s.api.GetUserInfoContext(ctx, id)
	if err != nil {
		return Person{}, fmt.Errorf("ask slack who %s is: %w", id, err)
	}
	p := Person{Name: cmp.Or(u.RealName, u.Profile.RealName, u.Name), Deactivated: u.Deleted, team: u.TeamID,
		enterprise: u.Enterprise.EnterpriseID, workspaces: u.Enterprise.Teams}
	switch {
	case u.IsStranger:
		p.Outside = "member of another workspace"
	case u.IsBot:
		p.Outside = "bot"
	case u.IsRestricted, u.IsUltraRestricted:
		p.Outside = "guest"
	}
	return p, nil
}

// Group is a user group.
type Group struct {
	Handle   string // without @
	Disabled bool   // it mentions no user and gives no role
	Members  []string
}

// UserGroups are the workspace's user groups by their ids, disabled ones too (usergroups.list). They are not cached.
func (s *Client) UserGroups(ctx context.Context) (map[string]Group, error) {
	list, err := s.api.GetUserGroupsContext(ctx, slack.GetUserGroupsOptionIncludeDisabled(true),
		slack.GetUserGroupsOptionIncludeUsers(true))
	if err != nil {
		return nil, fmt.Errorf("ask slack for its user groups: %w", err)
	}
	groups := map[string]Group{}
	for _, g := range list {
		groups[g.ID] = Group{Handle: g.Handle, Disabled: g.DateDelete != 0, Members: g.Users}
	}
	return groups, nil
}

// Groups returns those of the user groups that the user is in. With an error it returns what was last known.
func (s *Client) Groups(ctx context.Context, user string, of []string) (in []string, err error) {
	g := &s.groups
	mark, known := s.mark(ctx, AllGroups)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changed.Swap(false) {
		g.cached = cached{}
	}
	if !g.fresh(mark, known) {
		err = s.askGroups(ctx, mark)
	}
	for _, id := range of {
		if group := g.all[id]; !group.Disabled && slices.Contains(group.Members, user) {
			in = append(in, id)
		}
	}
	return in, err
}

// askGroups reads all user groups and their members in one call. The caller holds mu.
func (s *Client) askGroups(ctx context.Context, mark string) error {
	g := &s.groups
	if g.refused != nil && time.Now().Before(g.again) {
		return g.refused
	}
	all, err := s.UserGroups(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // the caller gave up, which says nothing about Slack
	}
	g.refused, g.again = err, time.Now().Add(min(max(retryAfter(err), groupsAgain), PeopleCachedFor))
	g.logOnce(s.Log, err)
	if err == nil {
		g.all, g.cached = all, cached{time.Now(), mark}
	}
	return err
}

// logOnce logs once that the groups can't be read, and once that they can again. The caller holds mu.
func (g *groups) logOnce(log *slog.Logger, err error) {
	switch failing := err != nil; {
	case failing == g.logged:
		return
	case failing:
		t, _ := Explain(err)
		log.Error("user groups can't be read: a role by user group counts for nothing", "why", t.Text, "fix", t.Fix,
			"err", err)
	default:
		log.Info("user groups can be read again")
	}
	g.logged = !g.logged
}

// PeopleChanged drops the cache of a user, or of AllGroups, here at once and on all replicas by its version.
func (s *Client) PeopleChanged(ctx context.Context, of string) error {
	if of == AllGroups {
		s.groups.changed.Store(true)
	} else {
		s.mu.Lock()
		delete(s.members, of)
		s.mu.Unlock()
	}
	if s.People == nil {
		return nil
	}
	if err := s.People.PeopleChanged(ctx, of); err != nil {
		return fmt.Errorf("invalidate %s on the other replicas: %w", of, err)
	}
	return nil
}
