package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store"
)

// oneSlot fails what a cluster would refuse: a command, script or transaction whose keys lie in two hash slots. The commands of a pipeline go their ways one by one.
func oneSlot(_ context.Context, cmds ...redis.Cmder) error {
	if cmds[0].Name() == "multi" {
		return checkSlots(cmds...)
	}
	for _, cmd := range cmds {
		if err := checkSlots(cmd); err != nil {
			return err
		}
	}
	return nil
}

func checkSlots(cmds ...redis.Cmder) error {
	first := ""
	for _, cmd := range cmds {
		for _, key := range keysOf(cmd) {
			if first == "" {
				first = key
			}
			if slot(key) != slot(first) {
				return fmt.Errorf("%s: %s and %s lie in two hash slots", cmd.Name(), first, key)
			}
		}
	}
	return nil
}

func keysOf(cmd redis.Cmder) []string {
	args := make([]string, len(cmd.Args()))
	for i, arg := range cmd.Args() {
		args[i] = fmt.Sprint(arg)
	}
	switch cmd.Name() {
	case "hello", "client", "select", "ping", "multi", "exec", "info", "config", "wait":
		return nil
	case "eval", "evalsha":
		n := cmd.Args()[2].(int)
		return args[3 : 3+n]
	case "xgroup":
		return args[2:3]
	case "xreadgroup":
		streams := args[slices.Index(args, "streams")+1:]
		return streams[:len(streams)/2]
	}
	return args[1:2]
}

// slot is a key's hash slot in a cluster: the CRC16 (XMODEM) of what stands between the first braces, if anything does, else of the key.
func slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for _, c := range []byte(key) {
		crc ^= uint16(c) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % 16384)
}

func TestWhatTouchesTwoSlotsIsFound(t *testing.T) {
	t.Parallel()
	require.Equal(t, 12739, slot("123456789"), "the example of Redis' specification")
	require.Equal(t, slot("{a:x}:1"), slot("{a:x}:2"))
	ctx := t.Context()
	one, two := "{a:acme}:audit", "{a:other}:audit"
	require.NoError(t, checkSlots(redis.NewCmd(ctx, "evalsha", "hash", 2, one, one+"ed", two)))
	require.Error(t, checkSlots(redis.NewCmd(ctx, "evalsha", "hash", 2, one, two)))
	multi, exec := redis.NewCmd(ctx, "multi"), redis.NewCmd(ctx, "exec")
	set := []redis.Cmder{redis.NewCmd(ctx, "set", one, 1), redis.NewCmd(ctx, "set", two, 1), redis.NewCmd(ctx, "wait", 1, 500)}
	require.NoError(t, oneSlot(ctx, set...))
	require.Error(t, oneSlot(ctx, append(append([]redis.Cmder{multi}, set...), exec)...))
	require.Error(t, oneSlot(ctx, append(set, redis.NewCmd(ctx, "evalsha", "hash", 2, one, two))...))
	require.Error(t, checkSlots(redis.NewCmd(ctx, "xreadgroup", "group", "g", "c", "streams", one, two, ">", ">")))
}

// Of equal masters none has much more of the work than the others.
func TestWorkIsSpreadOverMasters(t *testing.T) {
	t.Parallel()
	for _, masters := range []int{2, 3, 4, 5, 6, 8} {
		has := make([]int, masters)
		for _, n := range store.Shards() {
			has[slot(fmt.Sprintf("{work-%d}:stream", n))*masters/16384]++
		}
		require.LessOrEqual(t, slices.Max(has)-slices.Min(has), 1, "of %d masters", masters)
	}
	users := map[int]int{}
	for i := range 8000 {
		users[store.ShardOf(fmt.Sprintf("U0%06X", i*7919))]++
	}
	for shard, n := range users {
		require.InDelta(t, 1000, n, 150, "shard %d", shard)
	}
	require.Len(t, users, 8)
}
