package bot

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Pagers are the pagers whose acknowledgements come back.
type Pagers interface {
	// Secret signs what the pager of that name sends; "": there is none.
	Secret(name string) apiclient.Secret
	// Called is the attack, or the test card, for which a pager was called and pages people still, by the call's id; "" if
	// there is none.
	Called(ctx context.Context, pager, id string) (account, attack string, err error)
}

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

// pager takes what a pager sends: that somebody acknowledged a call acknowledges the attack. As Slack's requests, it is
// read only if its headers may be the pager's. It isn't dated: what is replayed finds a call that pages nobody any
// more.
func (s *Server) pager(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	secret := s.cfg.Pagers.Secret(name)
	switch {
	case secret == "":
		http.NotFound(w, r)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := s.readPager(w, r, secret)
	if err != nil {
		s.refuse(w, r, err)
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

// readPager reads the body of a request that is signed with the pager's secret.
func (s *Server) readPager(w http.ResponseWriter, r *http.Request, secret apiclient.Secret) ([]byte, error) {
	var signatures [][]byte
	for one := range strings.SplitSeq(r.Header.Get(headerPagerSignature), ",") {
		words, of := strings.CutPrefix(strings.TrimSpace(one), "v1=")
		signature, err := hex.DecodeString(words)
		if of && err == nil && len(signature) == sha256.Size && len(signatures) < maxPagerSignatures {
			signatures = append(signatures, signature)
		}
	}
	if len(signatures) == 0 {
		return nil, fmt.Errorf("%w: no signature of version v1", errForged)
	}
	body, err := s.read(w, r)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	_, _ = mac.Write(body)
	sum, good := mac.Sum(nil), false
	for _, signature := range signatures {
		good = hmac.Equal(signature, sum) || good
	}
	if !good {
		return nil, fmt.Errorf("%w: it is of another body or secret", errForged)
	}
	return body, nil
}

// acknowledged stores, once for each event, that somebody acknowledged the attack of a call. From then on it is a line like any other.
func (s *Server) acknowledged(ctx context.Context, pager string, e pagerEvent, body []byte) error {
	account, attack, err := s.cfg.Pagers.Called(ctx, pager, e.Event.Data.Key)
	if err != nil {
		return err
	}
	if attack == "" || !s.cfg.hasAccount(account) {
		s.log.warn(ctx, "a pager acknowledged a call that isn't wafbot's, or that pages nobody any more", "pager", pager)
		return nil
	}
	sum := sha256.Sum256([]byte(pager + "\x00" + cmp.Or(e.Event.ID, string(body))))
	who := e.Event.Agent
	req := request{Version: workVersion, names: []string{"pager " + hex.EncodeToString(sum[:])}}
	req.Invocation = call.Invocation{
		ID: req.names[0], At: s.cfg.Clocks.Now(), Account: account,
		Actor: record.Actor{
			ID: "pagerduty:" + text.Cut(cmp.Or(who.ID, pager), maxPagerName), Name: "PagerDuty: " + text.Cut(cmp.Or(who.Summary, pager), maxPagerName), Via: record.ViaPager,
		},
		Line: record.Line{Name: "ack"}.With("account", account).With("attack", attack),
	}
	if strings.HasPrefix(attack, "d") { // a drill's test card
		req.Invocation.Line = record.Line{Name: "drill"}.With("account", account).With("ack", attack)
	}
	work, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("write acknowledgement: %w", err)
	}
	_, waiting, err := s.cfg.Inbox.Accept(ctx, work, s.cfg.laneOf(req.Invocation), req.names...)
	if err == nil && waiting > 0 {
		err = errors.New("too many of one person at once")
	}
	return err
}
