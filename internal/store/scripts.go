package store

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

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
