package workspace

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	keptCalls       = 2000
	connectionsOpen = "apps.connections.open"
)

// Call is one call of the Web API or use of a response URL. Its arguments lack the token.
type Call struct {
	Method string            `json:"method"` // response_url for those
	Args   map[string]string `json:"args"`
	OK     bool              `json:"ok"`
	Error  string            `json:"error,omitempty"` // Slack's name for it, or the kind of a fault
	Time   time.Time         `json:"time"`
}

// answer is the JSON body of a good answer, without ok.
type answer map[string]any

// method is one method of the Web API. It runs under the lock.
type method struct {
	run       func(*webAPI, args) (answer, error)
	perMinute int    // the tier's calls; 0: not limited by tier
	scope     string // what the token must have; empty: nothing; *:verb: that of the channel's family, and run checks the exact one
}

// accepted lists the scopes of which a method needs one.
func (m method) accepted() []string {
	if verb, ok := strings.CutPrefix(m.scope, "*"); ok {
		return []string{"channels" + verb, "groups" + verb, "mpim" + verb, "im" + verb}
	}
	return strings.Fields(m.scope)
}

// refusal is an error of the Web API.
type refusal struct {
	name       string
	retryAfter int // seconds; over 0: the answer is a 429
	extra      answer
}

func (r *refusal) Error() string { return r.name }

func refuse(name string) error { return &refusal{name: name} }

func methods() map[string]method {
	const tier2, tier3, tier4 = 20, 50, 100
	return map[string]method{
		connectionsOpen:         {appsConnectionsOpen, tier3, "connections:write"},
		"api.test":              {apiTest, 0, ""},
		"auth.test":             {authTest, 0, ""},
		"bots.info":             {botsInfo, tier3, "users:read"},
		"chat.delete":           {chatDelete, tier3, "chat:write"},
		"chat.getPermalink":     {chatGetPermalink, 0, ""},
		"chat.postEphemeral":    {chatPostEphemeral, tier4, "chat:write"},
		"chat.postMessage":      {chatPostMessage, 0, "chat:write"},
		"chat.scheduleMessage":  {chatScheduleMessage, tier3, "chat:write"},
		"chat.update":           {chatUpdate, tier3, "chat:write"},
		"conversations.history": {conversationsHistory, tier3, "*:history"},
		"conversations.info":    {conversationsInfo, tier3, "*:read"},
		"conversations.join":    {conversationsJoin, tier3, "channels:join"},
		"conversations.list":    {conversationsList, tier2, "*:read"},
		"conversations.members": {conversationsMembers, tier4, "*:read"},
		"conversations.open":    {conversationsOpen, tier3, "im:write mpim:write channels:manage groups:write"},
		"conversations.replies": {conversationsReplies, tier3, "*:history"},
		"reactions.add":         {reactionsAdd, tier3, "reactions:write"},
		"team.info":             {teamInfo, tier3, "team:read"},
		"usergroups.list":       {usergroupsList, tier2, "usergroups:read"},
		"usergroups.users.list": {usergroupsUsersList, tier2, "usergroups:read"},
		"users.info":            {usersInfo, tier4, "users:read"},
		"users.list":            {usersList, tier2, "users:read"},
		"users.lookupByEmail":   {usersLookupByEmail, tier3, "users:read.email"},
		"views.open":            {viewsOpen, tier4, ""},
		"views.push":            {viewsPush, tier4, ""},
		"views.publish":         {viewsPublish, tier4, ""},
		"views.update":          {viewsUpdate, tier4, ""},
	}
}

// ServeHTTP answers /api/METHOD, the Web API, /response/…, the response URLs, and /link/, Socket Mode.
func (w *webAPI) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, w.prefix)
	if path == "/link/" {
		w.ServeLink(rw, r)
		return
	}
	name, isMethod := strings.CutPrefix(path, "/api/")
	id, isResponse := strings.CutPrefix(path, "/response/")
	if isResponse {
		name = ""
	}
	if !isMethod && !isResponse {
		http.NotFound(rw, r)
		return
	}
	a, err := parseArgs(rw, r, name)
	if refused := (*refusal)(nil); err != nil && !errors.As(err, &refused) {
		err = refuse("invalid_arguments")
	}
	if err != nil {
		outcomeOf(name, nil, err).write(rw, r)
		return
	}
	var out outcome
	if isMethod {
		out = w.serveMethod(name, a)
	} else {
		out = w.serveResponse(id, a)
	}
	out.write(rw, r)
}

// serveMethod calls a method and records the call.
func (w *webAPI) serveMethod(name string, a args) outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.callMethod(name, a)
	if scopes, known := w.scopesOf(a["token"]); known {
		out.header.Set("X-OAuth-Scopes", strings.Join(scopes, ","))
		out.header.Set("X-Accepted-OAuth-Scopes", strings.Join(w.methods[name].accepted(), ","))
	}
	w.record(name, a, out)
	return out
}

func (w *webAPI) callMethod(name string, a args) outcome {
	m, known := w.methods[name]
	if !known {
		return outcomeOf(name, nil, refuse("unknown_method"))
	}
	if err := w.authenticate(name, a["token"]); err != nil {
		return outcomeOf(name, nil, err)
	}
	fault, faulty := w.takeFault(name, a["channel"])
	if faulty && !fault.posted() {
		return w.faultOutcome(name, fault)
	}
	out := outcomeOf(name, nil, w.overPace(name, m, a))
	if out.err == "" {
		out = outcomeOf(name, nil, w.lacks(a["token"], m.accepted()...))
	}
	if out.err == "" {
		ans, err := m.run(w, a)
		out = outcomeOf(name, ans, err)
	}
	if faulty {
		return w.faultOutcome(name, fault)
	}
	return out
}

// scopesOf lists the scopes of a token; false for an unknown token.
func (w *webAPI) scopesOf(token string) ([]string, bool) {
	switch {
	case same(token, w.cfg.BotToken):
		return w.cfg.Scopes, true
	case same(token, w.cfg.AppToken):
		return w.methods[connectionsOpen].accepted(), true
	}
	return nil, false
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// authenticate refuses a token that is missing, unknown or of the wrong kind for the method; auth.test takes both kinds.
func (w *webAPI) authenticate(name, token string) error {
	_, known := w.scopesOf(token)
	switch {
	case name == "api.test":
		return nil
	case token == "":
		return refuse("not_authed")
	case !known:
		return refuse("invalid_auth")
	case name != "auth.test" && same(token, w.cfg.AppToken) != (name == connectionsOpen):
		return refuse("not_allowed_token_type")
	}
	return nil
}

// lacks refuses when the token has none of the scopes of which one is needed.
func (w *webAPI) lacks(token string, needed ...string) error {
	granted, _ := w.scopesOf(token)
	if len(needed) == 0 || slices.ContainsFunc(needed, func(scope string) bool { return slices.Contains(granted, scope) }) {
		return nil
	}
	return missingScope(needed, granted)
}

func missingScope(needed, granted []string) error {
	return &refusal{name: "missing_scope", extra: answer{"needed": strings.Join(needed, ","), "provided": strings.Join(granted, ",")}}
}

// Calls lists the latest 2,000 calls, oldest first.
func (w *webAPI) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

func (w *webAPI) record(name string, a args, out outcome) {
	kept := map[string]string{}
	for key, value := range a {
		if key != "token" {
			kept[key] = strings.NewReplacer(w.cfg.BotToken, "[redacted]", w.cfg.AppToken, "[redacted]").Replace(value)
		}
	}
	if len(w.calls) == keptCalls {
		w.calls = slices.Delete(w.calls, 0, 1)
	}
	w.calls = append(w.calls, Call{Method: name, Args: kept, OK: out.err == "", Error: out.err, Time: w.cfg.Now()})
}

// outcome is what goes back over the wire.
type outcome struct {
	status int
	header http.Header
	body   answer
	err    string
	hang   bool // the answer never comes
}

func outcomeOf(name string, ans answer, err error) outcome {
	var refused *refusal
	if !errors.As(err, &refused) {
		body := answer{"ok": true}
		maps.Copy(body, ans)
		return outcome{status: http.StatusOK, header: http.Header{}, body: body}
	}
	body := answer{"ok": false, "error": refused.name}
	maps.Copy(body, refused.extra)
	out := outcome{status: http.StatusOK, header: http.Header{}, body: body, err: refused.name}
	if refused.retryAfter > 0 {
		out.status = http.StatusTooManyRequests
		// Posting spells the error in another way than the rest of the Web API.
		if name == "chat.postMessage" || name == responseURL {
			body["error"], body["retry_after"] = "rate_limited", refused.retryAfter
		}
		out.header.Set("Retry-After", strconv.Itoa(refused.retryAfter))
	}
	return out
}

func (o outcome) write(rw http.ResponseWriter, r *http.Request) {
	if o.hang {
		<-r.Context().Done() // until the caller gives up
		return
	}
	maps.Copy(rw.Header(), o.header)
	write(rw, o.status, o.body)
}

func write(rw http.ResponseWriter, status int, body answer) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body) // the client may be gone
}
