package workspace

import (
	"crypto/rand"
	"net/http"
	"time"
)

const (
	responseURL  = "response_url" // its name among the methods, in calls and faults
	responseUses = 5
	responseLife = 30 * time.Minute
)

// response is the state of a response URL.
type response struct {
	user, channel string  // ids
	original      *stored // the message that was clicked; nil: a command
	url           string
	expires       time.Time
	uses          int
}

// newResponse returns the URL at which the bot may answer a click or, without original, a command.
func (w *webAPI) newResponse(user, channel string, original *stored) string {
	now := w.cfg.Now()
	for id, r := range w.responses {
		if now.Sub(r.expires) > responseLife {
			delete(w.responses, id)
		}
	}
	id := randomID()
	url := w.cfg.BaseURL + "/response/" + id
	w.responses[id] = &response{user: user, channel: channel, original: original, url: url, expires: now.Add(responseLife)}
	return url
}

func randomID() string { return rand.Text() }

// serveResponse answers a POST to a response URL and records it.
func (w *webAPI) serveResponse(id string, a args) outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.useResponse(id, a)
	w.record(responseURL, a, out)
	return out
}

func (w *webAPI) useResponse(id string, a args) outcome {
	r := w.responses[id]
	if r == nil || w.cfg.Now().After(r.expires) {
		return gone("expired_url")
	}
	if r.uses == responseUses {
		return gone("used_url")
	}
	fault, faulty := w.takeFault(responseURL, r.channel)
	if faulty && !fault.posted() {
		return w.faultOutcome(responseURL, fault)
	}
	r.uses++
	out := outcomeOf(responseURL, nil, w.respond(r, a))
	if out.err != "" && out.status == http.StatusOK {
		out.status = http.StatusBadRequest
	}
	if faulty {
		return w.faultOutcome(responseURL, fault)
	}
	return out
}

func gone(name string) outcome {
	out := outcomeOf(responseURL, nil, refuse(name))
	out.status = http.StatusNotFound
	return out
}

// respond posts, replaces or deletes as an answer to a click or command asks. It needs neither membership nor scopes.
func (w *webAPI) respond(r *response, a args) error {
	if a.flag("delete_original") || a.flag("replace_original") {
		return w.respondInPlace(r, a)
	}
	said, err := w.content(a)
	if err != nil {
		return err
	}
	if said.empty() {
		return refuse("no_text")
	}
	c := w.channel(r.channel)
	if c.Archived {
		return refuse("is_archived")
	}
	if said.thread, err = w.threadOf(c, a["thread_ts"]); err != nil {
		return err
	}
	switch a["response_type"] {
	case "", "ephemeral":
		m := w.ours(c, said, a)
		m.Answers = r.url
		w.postEphemeral(m, r.user)
	case "in_channel":
		if err := w.overPostPace(c.ID); err != nil {
			return err
		}
		w.add(w.ours(c, said, a))
	default:
		return refuse("invalid_response_type")
	}
	return nil
}

// respondInPlace replaces or deletes the message that was clicked.
func (w *webAPI) respondInPlace(r *response, a args) error {
	m := r.original
	if m == nil || m.deleted || m.Gone {
		return refuse("no_original_message")
	}
	if m.Ephemeral && a["response_type"] == "in_channel" {
		return refuse("invalid_response_type")
	}
	switch {
	case !a.flag("delete_original"):
	case m.Ephemeral:
		m.Gone = true
		w.notify()
		return nil
	default:
		w.erase(m)
		return nil
	}
	said, err := w.content(a)
	if err != nil {
		return err
	}
	if said.empty() {
		return refuse("no_text")
	}
	m.Answers = r.url
	w.rewrite(m, said, a)
	return nil
}
