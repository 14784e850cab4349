package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// kinds is a function of scripts: what is wrong with what a key holds, by its kind, and with what scripts rely on;
// false if nothing is.
const kinds = `
local kinds = {
  stream = 'stream', beats = 'zset', links = 'zset', off = 'zset', accounts = 'set', attacks = 'hash', gaps = 'zset', outbox = 'hash', cards = 'hash',
  redraw = 'hash', triage = 'hash', pages = 'hash', changes = 'hash', efficacy = 'hash', due = 'zset', approvals = 'hash', ['approvals:at'] = 'hash',
  ['approvals:due'] = 'zset', audit = 'stream', pace = 'hash', next = 'zset', damaged = 'hash'
}
local forms = {version = '^%d+$', audited = '^%d+$', epoch = '^%d+ %w+$'}
local function wrong(key)
  local name, is = string.match(key, '}:(.*)$') or '', redis.call('TYPE', key).ok
  local want = string.find(name, '^lane:') and 'list' or kinds[name] or 'string'
  if is == 'none' or name == 'none' then return false end
  if is ~= want then return is end
  if forms[name] then
    local text = redis.call('GET', key)
    return (not string.find(text, forms[name]) or name == 'audited' and #text > 15) and 'unreadable value'
  end
  local lease = name == 'lease' or name == 'restart' or string.find(name, '^claim:')
  return lease and redis.call('PTTL', key) == -1 and 'lease without an end'
end
`

// newScript is a script that fails before it has written, if a key holds another kind of value than it should: none
// fails later.
func newScript(body string) *redis.Script {
	return redis.NewScript(kinds + `
for _, key in ipairs(KEYS) do
  local is = wrong(key)
  if is then return redis.error_reply('WRONGTYPE ' .. key .. ' holds a ' .. is) end
end
` + body)
}

// newEnough makes a script fail if Redis is older than wafbot needs. The script's last key is one of keyNone, so this
// writes nothing. A full or read-only Redis doesn't say.
var newEnough = `
local found = redis.pcall('XADD', KEYS[#KEYS], 'NOMKSTREAM', 'MINID', '~', '0', '*', 'n', '0')
local says = found and found.err or ''
if string.find(says, 'Invalid stream ID', 1, true) or string.find(says, 'nknown', 1, true) then
  return redis.error_reply('TOOOLD ` + ErrTooOld.Error() + `')
end
`

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

// aside sets aside what can't be read, unless it was overwritten meanwhile.
// KEYS[1] where to, then the keys: those that hold a wrong kind of value; ARGV[1] for how long in ms, ARGV[2] how much
// there may be, ARGV[3] and ARGV[4] the one field or member, empty if it is the whole value, and the text that can't be
// read, left out if kinds alone are wrong.
// Result: the names of what was set aside. Deleting comes first: then a full Redis takes it, too.
var aside = redis.NewScript(kinds + `
local names = {}
local function put(name, value)
  local held = redis.call('HKEYS', KEYS[1])
  if #held >= tonumber(ARGV[2]) then redis.call('HDEL', KEYS[1], held[1]) end
  redis.call('HSET', KEYS[1], name, value)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  local of, field = string.match(name, '}:([%l_]+)(.*)$')
  if ({epoch = 1, attacks = 1, last_good = 1})[of] or ({cards = 1, changes = 1})[of] and field == '' then -- its next owner rebuilds it: else it would post again
    local account = string.match(name, '^.-}:')
    redis.call('DEL', account .. 'epoch', account .. 'lease')
  end
  table.insert(names, name)
end
if wrong(KEYS[1]) then redis.call('DEL', KEYS[1]) end
for i = 2, #KEYS do
  local key, field, text = KEYS[i], ARGV[3], ARGV[4]
  local is = redis.call('TYPE', key).ok
  if wrong(key) then
    local dump = redis.pcall('DUMP', key)
    redis.call('DEL', key)
    put(key, type(dump) == 'string' and dump or '')
  elseif text and is == 'string' and redis.call('GET', key) == text then
    redis.call('DEL', key)
    put(key, text)
  elseif text and is == 'hash' and redis.call('HGET', key, field) == text then
    redis.call('HDEL', key, field)
    put(key .. ' ' .. field, text)
  elseif text and is == 'zset' and redis.call('ZREM', key, text) == 1 then
    put(key .. ' ' .. text, text)
  end
end
return names`)

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

// mend is a hook that sets aside what holds a wrong kind of value, and sends again what failed of it: it has done
// nothing.
type mend struct{ *client }

// DialHook implements redis.Hook.
func (mend) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (m mend) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if m.mended(ctx, cmd, err) {
			err = next(ctx, cmd)
		}
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m mend) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		var again []redis.Cmder
		for _, cmd := range cmds {
			if m.mended(ctx, cmd, cmd.Err()) || len(again) > 0 && cmd.Name() == "wait" { // which waits for what is sent again
				cmd.SetErr(nil)
				again = append(again, cmd)
			}
		}
		if len(again) > 0 {
			_ = next(ctx, again)
			err = nil
			for _, cmd := range cmds {
				err = errors.Join(err, cmd.Err())
			}
		}
		return err
	}
}

// mended reports whether a command failed because of what a key holds, and that is set aside now.
func (m mend) mended(ctx context.Context, cmd redis.Cmder, err error) bool {
	if err == nil || !strings.Contains(err.Error(), "WRONGTYPE ") {
		return false
	}
	args, keys := cmd.Args(), []string(nil)
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
