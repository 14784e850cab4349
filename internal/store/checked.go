package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// reply is a script's answer of at least so many parts. Redis cuts an answer short at the first part that is nothing.
func reply(answer *redis.Cmd, least int) ([]any, error) {
	parts, err := answer.Slice()
	if err == nil && len(parts) < least {
		err = fmt.Errorf("%w: a script answered %d of %d parts", ErrDamaged, len(parts), least)
	}
	return parts, err
}

// words is reply where all parts are text.
func words(answer *redis.Cmd, least int) ([]string, error) {
	parts, err := reply(answer, least)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i], _ = part.(string)
	}
	return texts, err
}

// How much is set aside in a slot, and for how long after the last of it.
const (
	maxDamaged = 50
	damagedFor = 30 * 24 * time.Hour
)

// setAside sets aside what can't be read: of keys what holds a wrong kind of value, or, of one key, a text, in that
// field if it is a hash. done reports that what failed because of it may be sent again; another replica may have been
// faster.
func (s *client) setAside(ctx context.Context, keys []string, unread ...any) (done bool) {
	if len(keys) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	args := append([]any{damagedFor.Milliseconds(), maxDamaged}, unread...)
	names, err := aside.Run(ctx, s.rdb, append([]string{keyOf(keys[0], "damaged")}, keys...), args...).StringSlice()
	if len(names) > 0 {
		s.damaged(names)
	}
	return err == nil && !slices.Contains(names, keyOf(keys[0], "attacks")) // without them an account looks as if it was never polled
}

// Damaged is what was set aside, also of these accounts, as KEY or KEY FIELD, as far as it can be read.
func (s *Store) Damaged(ctx context.Context, accounts []string) (names []string) {
	keys := []string{keyOf(s.key(keyBeats), "damaged"), keyOf(s.key(keyEdits), "damaged")}
	for _, in := range s.shards {
		keys = append(keys, keyOf(in.key(keyStream), "damaged"))
	}
	for _, account := range accounts {
		keys = append(keys, s.key(keyDamaged, account))
	}
	p := s.rdb.Pipeline()
	all := make([]*redis.StringSliceCmd, len(keys))
	for i, key := range keys {
		all[i] = p.HKeys(ctx, key)
	}
	_, _ = p.Exec(ctx)
	for _, held := range all {
		names = append(names, held.Val()...)
	}
	slices.Sort(names)
	return names
}

// mend is a hook that sends again what has done nothing: because a key holds a wrong kind of value, which is set aside,
// or because a server doesn't know the script.
type mend struct{ *client }

// mends are how many times a command is: the script that a server is told may find a wrong kind.
const mends = 2

// DialHook implements redis.Hook.
func (mend) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (m mend) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		for try := 0; try < mends && m.mended(ctx, cmd, err); try++ {
			err = next(ctx, cmd)
		}
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m mend) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err, last := next(ctx, cmds), cmds
		for range mends {
			var again []redis.Cmder
			for _, cmd := range last {
				if m.mended(ctx, cmd, cmd.Err()) || len(again) > 0 && cmd.Name() == "wait" { // which waits for what is sent again
					cmd.SetErr(nil)
					again = append(again, cmd)
				}
			}
			if len(again) == 0 {
				return err
			}
			_ = next(ctx, again)
			err, last = nil, again
			for _, cmd := range cmds {
				err = errors.Join(err, cmd.Err())
			}
		}
		return err
	}
}

// mended reports whether a command failed because of what a key holds, and that is set aside now, or because its
// server doesn't know its script, which is in it now.
func (m mend) mended(ctx context.Context, cmd redis.Cmder, err error) bool {
	args, keys := cmd.Args(), []string(nil)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		args[0], args[1] = "eval", sources[args[1].(string)]
		return true
	}
	if err == nil || !strings.Contains(err.Error(), "WRONGTYPE ") {
		return false
	}
	if n, ok := args[min(2, len(args)-1)].(int); ok && strings.HasPrefix(cmd.Name(), "eval") {
		args = args[3 : 3+n]
	}
	for _, arg := range args {
		if key, ok := arg.(string); ok && strings.HasPrefix(key, string(m.keyspace)+"{") {
			keys = append(keys, key)
		}
	}
	return m.setAside(ctx, keys)
}

// scripts are Lua, each headed by its KEYS, its ARGV and its result. A fragment is what several of them begin with.
//
//go:embed scripts/*.lua
var scripts embed.FS

// sources are the texts of all scripts by their hashes, for a Redis that doesn't know one yet.
var sources = map[string]string{}

var (
	accept      = newScript("take_new", "accept")
	aside       = newLua("kinds", "aside") // which is there for keys that hold the wrong kind
	beat        = newScript("new_enough", "beat")
	beginNotify = newScript("begin_notify")
	dropLease   = newScript("drop_lease")
	hold        = newScript("take_new", "hold")
	leaseHolder = newScript("lease_holder")
	notified    = newScript("notified")
	ping        = newScript("new_enough", "ping")
	redrawn     = newScript("redrawn")
	renewLease  = newScript("renew_lease")
	renewOwned  = newScript("renew_owned")
	settle      = newScript("take_new", "settle")
	takeEdit    = newScript("bucket", "take_edit")
	takeLease   = newScript("new_enough", "take_lease")
	takeLink    = newScript("take_link")
	takeSlot    = newScript("bucket", "take_slot")
	transact    = newScript("new_enough", "transact")
)

// newScript is a script of these files, in this order. It fails before it has written, if a key holds another kind of
// value than it should.
func newScript(files ...string) *redis.Script {
	return newLua(append([]string{"kinds", "check_kinds"}, files...)...)
}

// newLua is the text of files beside each other.
func newLua(files ...string) *redis.Script {
	var text strings.Builder
	for _, name := range files {
		source, err := scripts.ReadFile("scripts/" + name + ".lua")
		if err != nil {
			panic(err) // no such file was compiled in
		}
		text.Write(source)
	}
	script := redis.NewScript(text.String())
	sources[script.Hash()] = text.String()
	return script
}
