package refusal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// Connections are how many connections of Redis an idle replica holds at most, with some to spare: each server of Redis
// must take as many from each.
const Connections = 6

// Trouble is why Redis can't be used, in words that follow "Redis".
type Trouble struct {
	Is       string // as "its memory is full (OOM)"; "": it isn't known
	Fix      string
	Answered bool // so that it is clear that nothing was done
}

const (
	damaged  = "it holds a value that wafbot can't read"
	setAside = "look at wafbot's log, which names the value when it is set aside; then it goes on by itself"
)

// troubles are what Redis' errors mean, by a part of their text. The first that fits counts.
var troubles = []struct{ part, is, code, fix string }{
	{"NOAUTH ", "it wants a password", "NOAUTH", "write it into the address: redis://USER:PASSWORD@HOST:6379/0"},
	{"WRONGPASS ", "it doesn't take this user and password", "WRONGPASS", "check user and password in the address"},
	{"NOPERM ", "the user may not write", "NOPERM",
		"give the user the commands and keys that it needs: ACL SETUSER, see docs/config.md"},
	{"READONLY ", "it is a replica and takes no writes", "READONLY",
		"write the primary's address, or redis-sentinel://…, with TLS redis-sentinels://…"},
	{"OOM ", "its memory is full", "OOM", "raise its maxmemory, or make room: what wafbot stores must not be evicted"},
	{"MISCONF ", "it can't save to its disk, so it takes no writes", "MISCONF", "look at its disk and its log"},
	{"LOADING ", "it is still loading what it holds", "LOADING", "wait until it has, and look again"},
	{"MASTERDOWN ", "it is a replica without its primary", "MASTERDOWN", "look at the primary"},
	{"NOREPLICAS ", "it has too few replicas to take writes", "NOREPLICAS",
		"look at its replicas, or lower its min-replicas-to-write"},
	{"BUSY ", "it is busy with a script", "BUSY", "look at its log; SCRIPT KILL ends it"},
	{"CLUSTERDOWN ", "the cluster is down", "CLUSTERDOWN", "look at CLUSTER INFO on a node of it"},
	{"MOVED ", "it is a cluster", "MOVED", "write redis-cluster://… for it, with TLS redis-clusters://…"},
	{"ERR DB index ", "it has no database of that number", "ERR DB index", "check the number at the end of the address"},
	{
		"max number of clients", "it takes no more connections", "max number of clients reached",
		fmt.Sprintf("raise its maxclients: each replica of wafbot wants %d when idle, more under load", Connections),
	},
	{store.ErrTooOld.Error(), "it is older than " + store.MinVersion, "",
		"upgrade it to " + store.MinVersion + " or later, also its replicas"},
	{"WRONGTYPE ", damaged, "WRONGTYPE", setAside},
	{store.ErrDamaged.Error(), damaged, "", setAside},
	{"user_script", damaged, "", setAside}, // of what else goes wrong in a script
}

// TroubleOf tells why Redis can't be used, from an error of a call.
func TroubleOf(err error) Trouble {
	for _, known := range troubles {
		if strings.Contains(err.Error(), known.part) {
			t := Trouble{Is: known.is, Fix: known.fix, Answered: true}
			if known.code != "" {
				t.Is += " (" + known.code + ")"
			}
			return t
		}
	}
	var answer interface{ RedisError() }
	return Trouble{Fix: "look at wafbot's log and at Redis'", Answered: errors.As(err, &answer)}
}

// Redis says why Redis can't be used, for people.
func Redis(err error) string {
	switch t := TroubleOf(err); {
	case errors.Is(err, store.ErrEmptied):
		return "is empty, and is being rebuilt from the channels"
	case errors.Is(err, store.ErrOlder):
		return "holds the state of an older version, which this one can't read"
	case errors.Is(err, store.ErrNewer):
		return "holds the state of a newer version, which this one can't read"
	case t.Is != "":
		return "takes nothing just now: " + t.Is
	case t.Answered:
		return "takes nothing just now: it answers with an error of its own"
	}
	return "can't be reached"
}

// Store says why wafbot's store can't be used.
func Store(err error) string { return "wafbot's store (Redis) " + Redis(err) }

// Advised is an error with what an operator has to do where a process can't go on.
func Advised(err error) error {
	switch {
	case errors.Is(err, store.ErrNewer):
		return fmt.Errorf("%w: update this one, or take it out of service", err)
	case errors.Is(err, store.ErrOlder):
		return fmt.Errorf("%w: stop the older ones, give redis.key_prefix a value that it never had (or empty this redis database: "+
			"FLUSHDB), and start again; the state is then rebuilt from Slack, see docs/upgrading.md", err)
	case store.TooOld(err):
		return fmt.Errorf("%w: upgrade it, also its replicas", err)
	}
	return err
}

// Unreadable refuses what would go by a change whose record can't be read: perhaps it was done already.
func Unreadable(id string) error {
	return &Refusal{Kind: ErrAway, Text: text.Newf("the record of change `%v` in wafbot's store (Redis) is damaged: whether it was done is unknown, and wafbot can't end it. Look at `lists` and `rules`, and remove there what is left of it", id)}
}

// Away is the refusal of a change because the store is away.
func Away(err error) *Refusal {
	next := ", and without it nothing is changed. Try again in a moment"
	switch t := TroubleOf(err); {
	case errors.Is(err, store.ErrNewer):
		return &Refusal{Kind: ErrAway, Cause: err, Titled: true,
			Text: text.Newf("*Failed*, not done: a newer wafbot has taken over, and this one is out of service. Ask again")}
	case errors.Is(err, store.ErrEmptied):
		next = ". Try again in a minute"
	case errors.Is(err, store.ErrOlder):
		next = ". Its log says how to proceed"
	case t.Answered:
		next = ". Without it nothing is changed. Who runs wafbot can " + t.Fix
	}
	return &Refusal{Kind: ErrAway, Cause: err, Titled: true, Text: text.Newf("*Failed*, not done: %v%v",
		Store(err), next)}
}
