package workspace

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	defaultPage = 100
	largestPage = 999
)

// readable finds the channel of a conversations method by id, and checks the scope that fits it: read or history.
func (w *webAPI) readable(a args, verb string) (*Channel, error) {
	c := w.channel(a["channel"])
	if c == nil || c.ID != a["channel"] || c.Private && !c.BotIsMember {
		return nil, refuse("channel_not_found")
	}
	return c, w.lacks(a["token"], c.family()+":"+verb)
}

func (c *Channel) family() string {
	switch {
	case strings.HasPrefix(c.ID, "D"):
		return "im"
	case c.Private:
		return "groups"
	}
	return "channels"
}

// readablePart is the requested channel and the requested part of its messages.
func (w *webAPI) readablePart(a args) (c *Channel, within func(ts string) bool, err error) {
	if c, err = w.readable(a, "history"); err != nil {
		return nil, nil, err
	}
	if !c.BotIsMember {
		return nil, nil, refuse("not_in_channel")
	}
	within, err = window(a)
	return c, within, err
}

func conversationsHistory(w *webAPI, a args) (answer, error) {
	c, within, err := w.readablePart(a)
	if err != nil {
		return nil, err
	}
	var found []*stored
	for _, m := range slices.Backward(w.messages) {
		shown := m.ThreadTS == "" || m.Broadcast
		if m.Channel == c.ID && !m.Ephemeral && (!m.deleted || w.leftReplies(m)) && shown && within(m.TS) {
			found = append(found, m)
		}
	}
	return w.page(a, found, func(ts, cursor string) bool { return ts <= cursor })
}

func conversationsReplies(w *webAPI, a args) (answer, error) {
	c, within, err := w.readablePart(a)
	if err != nil {
		return nil, err
	}
	var found []*stored
	replies := w.replies(c.ID, a["ts"])
	parent := w.find(c.ID, a["ts"])
	if parent == nil && len(replies) > 0 {
		parent = w.deletedMessage(c.ID, a["ts"])
	}
	if parent == nil && len(replies) == 0 || parent != nil && parent.Ephemeral {
		return nil, refuse("thread_not_found")
	}
	if parent != nil {
		found = append(found, parent) // also outside the window, as in Slack
	}
	for _, m := range replies {
		if within(m.TS) {
			found = append(found, m)
		}
	}
	return w.page(a, found, func(ts, cursor string) bool { return ts >= cursor })
}

// replies lists a thread's replies, oldest first; they stay when their parent is deleted.
func (w *messageStore) replies(channel, parent string) []*stored {
	var found []*stored
	for _, m := range w.messages {
		if m.Channel == channel && m.ThreadTS == parent && parent != "" && !m.Ephemeral && !m.deleted {
			found = append(found, m)
		}
	}
	return found
}

// window returns a function that reports whether a timestamp is between oldest and latest.
func window(a args) (func(ts string) bool, error) {
	bounds := map[string]int64{"oldest": 0, "latest": math.MaxInt64}
	for name := range bounds {
		if a[name] == "" {
			continue
		}
		at, ok := parseTS(a[name])
		if !ok {
			return nil, refuse("invalid_ts_" + name)
		}
		bounds[name] = at
	}
	return func(ts string) bool {
		at, _ := parseTS(ts)
		if at == bounds["oldest"] || at == bounds["latest"] {
			return a.flag("inclusive")
		}
		return bounds["oldest"] < at && at < bounds["latest"]
	}, nil
}

// parseTS reads a timestamp, which may have fewer decimals than six or none, as microseconds.
func parseTS(ts string) (int64, bool) {
	seconds, fraction, _ := strings.Cut(ts, ".")
	if len(fraction) > 6 {
		return 0, false
	}
	at, err := strconv.ParseInt(seconds+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	return at, err == nil && at >= 0
}

// page cuts a list of messages at its limit. The cursor names the first message of the next page; when that was
// deleted meanwhile, the page begins with what follows it.
func (w *webAPI) page(a args, found []*stored, reached func(ts, cursor string) bool) (answer, error) {
	start := 0
	if cursor := a["cursor"]; cursor != "" {
		raw, err := base64.StdEncoding.DecodeString(cursor)
		next, ok := strings.CutPrefix(string(raw), "next_ts:")
		if err != nil || !ok {
			return nil, refuse("invalid_cursor")
		}
		start = slices.IndexFunc(found, func(m *stored) bool { return reached(m.TS, next) })
		if start < 0 {
			start = len(found)
		}
	}
	end := min(len(found), start+a.limit(defaultPage, largestPage))
	messages := []answer{}
	for _, m := range found[start:end] {
		messages = append(messages, w.wire(m, a.flag("include_all_metadata")))
	}
	out := answer{"messages": messages, "has_more": end < len(found)}
	if end < len(found) {
		next := base64.StdEncoding.EncodeToString([]byte("next_ts:" + found[end].TS))
		out["response_metadata"] = answer{"next_cursor": next}
	}
	return out, nil
}
