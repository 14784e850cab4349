package bot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

const (
	headerPagerSignature = "X-PagerDuty-Signature"
	maxPagerSignatures   = 8   // of one request: PagerDuty signs with each secret while one replaces another
	maxPagerName         = 100 // characters of a person's id, and of the name
)

// pagerEvent is what is needed of an event of PagerDuty's webhooks, version 3.
type pagerEvent struct {
	Event struct {
		ID    string   `json:"id"`
		Type  string   `json:"event_type"`
		Agent struct { // who did it; null: nobody knows
			ID      string `json:"id"`
			Summary string `json:"summary"`
		} `json:"agent"`
		Data struct {
			Key string `json:"incident_key"` // as wafbot gave it (dedup_key)
		} `json:"data"`
	} `json:"event"`
}

// pagerAcknowledged is the one kind of event that does something.
const pagerAcknowledged = "incident.acknowledged"

// pager takes what a pager sends: that somebody acknowledged a call acknowledges the attack. It isn't dated: what is
// replayed finds a call that pages nobody any more.
func (s *Server) pager(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	secret := s.PagerSecret(name)
	if secret == "" {
		http.NotFound(w, r)
		return
	}
	body, signature := s.authentic(w, r, seal{
		secret: secret, version: "v1=", written: r.Header.Get(headerPagerSignature), most: maxPagerSignatures,
	})
	if signature == nil {
		return
	}
	var e pagerEvent
	if err := json.Unmarshal(body, &e); err != nil {
		s.log.warn(r.Context(), "read what a pager sent", "pager", name, "err", err)
		http.Error(w, "no event of version 3", http.StatusBadRequest)
		return
	}
	if e.Event.Type != pagerAcknowledged {
		return // 200: docs/pager.md says why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), acceptTimeout)
	defer cancel()
	if err := s.acknowledged(ctx, name, e, body); err != nil {
		s.log.warn(r.Context(), "accept what a pager acknowledged", "pager", name, "err", err)
		http.Error(w, "not now: send it again", http.StatusServiceUnavailable) // which PagerDuty does
	}
}

// acknowledged stores, once for each event, that somebody acknowledged the attack of a call. From then on it is a line
// like any other.
func (s *Server) acknowledged(ctx context.Context, pager string, e pagerEvent, body []byte) error {
	account, attack, err := s.Called(ctx, pager, e.Event.Data.Key)
	if err != nil {
		return err
	}
	if attack == "" || !s.hasAccount(account) {
		s.log.warn(ctx, "a pager acknowledged a call that isn't wafbot's, or that pages nobody any more", "pager", pager)
		return nil
	}
	sum := sha256.Sum256([]byte(pager + "\x00" + cmp.Or(e.Event.ID, string(body))))
	who := e.Event.Agent
	req := request{names: []string{"pager " + hex.EncodeToString(sum[:])}}
	req.Invocation = call.Invocation{
		ID: req.names[0], At: s.Clocks.Now(), Account: account,
		Actor: record.Actor{
			ID:   "pagerduty:" + text.Cut(cmp.Or(who.ID, pager), maxPagerName),
			Name: "PagerDuty: " + text.Cut(cmp.Or(who.Summary, pager), maxPagerName), Via: record.ViaPager,
		},
		Line: record.Line{Name: "ack"}.With("account", account).With("attack", attack),
	}
	if strings.HasPrefix(attack, "d") { // a drill's test card
		req.Line = record.Line{Name: "drill"}.With("account", account).With("ack", attack)
	}
	waiting, err := s.accept(ctx, req)
	if waiting > 0 {
		err = errors.New("too many of one person at once")
	}
	return err
}
