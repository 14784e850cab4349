package workspace

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/delivery"
)

const keptEvents = 1000

// Event is an event that was sent to the bot, or is being sent.
type Event struct {
	ID       string          `json:"id"`      // event_id
	Type     string          `json:"type"`    // app_mention, message, app_home_opened, user_change, …
	Channel  string          `json:"channel"` // id; empty: not in a channel
	Payload  json.RawMessage `json:"payload"` // the outer event
	Attempts []Delivery      `json:"attempts"`
	Done     bool            `json:"done"` // acknowledged, or given up
}

// sentEvent is an event with its internal state.
type sentEvent struct {
	Event
	open int // ways that have neither an acknowledgement nor given up
}

// Events lists the latest 1,000 events, oldest first.
func (w *eventLog) Events() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := []Event{}
	for _, e := range w.events {
		copied := e.Event
		copied.Attempts = slices.Clone(e.Attempts)
		events = append(events, copied)
	}
	return events
}

// Subscribe replaces Config.Events from now on.
func (w *eventLog) Subscribe(events ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cfg.Events = events
}

// emitPosted sends the events of a new message.
func (w *messageStore) emitPosted(m *stored) {
	w.emitMention(m, m.TS)
	w.emitMessage(m, m.TS, func() answer { return w.wire(m, false) })
}

// emitEdited sends the events of an edited message.
func (w *messageStore) emitEdited(m *stored, before stored) {
	m.editedTS = w.nextTS()
	w.emitMention(m, m.editedTS)
	w.emitMessage(m, m.editedTS, func() answer {
		return answer{
			"type": "message", "subtype": "message_changed", "hidden": true, "ts": m.editedTS,
			"message": w.wire(m, false), "previous_message": w.wire(&before, false),
		}
	})
}

// emitMention sends an app_mention if the message mentions the bot. Direct messages have none.
func (w *messageStore) emitMention(m *stored, at string) {
	mentioned := strings.Contains(m.Text, "<@"+w.cfg.BotUserID+">") && w.channel(m.Channel).family() != "im"
	if !mentioned || !w.receives(m, "app_mention", "app_mentions:read") {
		return
	}
	event := w.wire(m, false)
	for _, other := range []string{"attachments", "metadata", "subtype", "reply_count", "latest_reply", "reply_users", "reply_users_count"} {
		delete(event, other)
	}
	event["type"] = "app_mention"
	w.emitFor(m, at, event)
}

func (w *messageStore) emitMessage(m *stored, at string, event func() answer) {
	family := w.channel(m.Channel).family()
	if !w.receives(m, "message."+family, family+":history") {
		return
	}
	payload := event()
	payload["channel_type"] = map[string]string{"channels": "channel", "groups": "group", "im": "im"}[family]
	w.emitFor(m, at, payload)
}

// receives reports whether the bot has the subscription and the scope, and is in the message's channel.
func (w *messageStore) receives(m *stored, subscription, scope string) bool {
	return w.subscribed(subscription, scope) && w.channel(m.Channel).BotIsMember
}

// subscribed reports whether the bot has the subscription and the scope. An empty scope is always granted.
func (w *eventLog) subscribed(subscription, scope string) bool {
	return slices.Contains(w.cfg.Events, subscription) && (scope == "" || slices.Contains(w.cfg.Scopes, scope))
}

// emitFor sends an event about a message in the background.
func (w *messageStore) emitFor(m *stored, at string, event answer) {
	event["channel"] = m.Channel
	author, _ := w.user(m.User)
	w.emit(m.Channel, author, at, event)
}

// emit sends an event in the background. by is the acting user; channel is empty outside of channels.
func (w *eventLog) emit(channel string, by User, at string, event answer) {
	if w.ctx.Err() != nil {
		return
	}
	event["event_ts"] = at
	e := &sentEvent{Event: w.event(channel, by, event)}
	if len(w.events) == keptEvents {
		w.events = slices.Delete(w.events, 0, 1)
	}
	w.events = append(w.events, e)
	if w.takeDeliveryFault(lostClick, channel) {
		e.Done = true
		return
	}
	twice := w.takeDeliveryFault(duplicateDelivery, channel)
	ways := w.EventWays()
	e.open = len(ways)
	e.Done = len(ways) == 0
	for _, way := range ways {
		w.running.Go(func() { w.sendEvent(w.ctx, e, way, twice) })
	}
}

// event is an event in its outer envelope.
func (w *eventLog) event(channel string, by User, inner answer) Event {
	id := w.nextID("Ev")
	payload := marshal(answer{
		"token": delivery.VerificationToken, "team_id": w.cfg.TeamID, "context_team_id": w.cfg.TeamID, "context_enterprise_id": nil,
		"api_app_id": w.cfg.AppID, "event": inner, "type": "event_callback", "event_id": id, "event_time": w.cfg.Now().Unix(),
		"authorizations": []answer{{
			"enterprise_id": nil, "team_id": w.cfg.TeamID, "user_id": w.cfg.BotUserID, "is_bot": true, "is_enterprise_install": false,
		}},
		"is_ext_shared_channel": by.Stranger, "event_context": "4-" + id,
	})
	return Event{ID: id, Type: inner["type"].(string), Channel: channel, Payload: payload}
}

// sendEvent sends an event one way. Unless it is acknowledged it is sent three times more: at once, after a minute, after five.
func (w *eventLog) sendEvent(ctx context.Context, e *sentEvent, way Ingress, twice bool) {
	d := Delivery{Type: delivery.TypeEvent, Payload: e.Payload, Via: way}
	var last Delivery
	for attempt, wait := range []time.Duration{0, 0, time.Minute, 5 * time.Minute} {
		if !sleep(ctx, time.Duration(float64(wait)/w.cfg.Speed)) {
			return
		}
		sent, _ := w.Attempt(ctx, d, attempt, last) // the error is in sent
		if ctx.Err() != nil {
			return
		}
		last = sent
		w.addAttempt(e, sent)
		if sent.Final() {
			break
		}
	}
	if twice {
		again, _ := w.Replay(ctx, last)
		w.addAttempt(e, again)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.open--
	e.Done = e.open == 0
	w.notify()
}

// addAttempt keeps an attempt.
func (w *eventLog) addAttempt(e *sentEvent, sent Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Attempts = append(e.Attempts, sent)
	w.notify()
}

// sleep waits; false when the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	due := time.NewTimer(d)
	defer due.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-due.C:
		return true
	}
}
