// Package store holds what must outlive a process and what replicas must agree on. It is the only package that knows
// Redis.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/store/address"
)

// Config says where Redis is, and what is kept there how.
type Config struct {
	Address   address.Options
	KeyPrefix string        // of every key; two installations with different ones see nothing of each other. It holds no braces
	AuditKeep time.Duration // how long audit entries are kept; 0: without limit
	Copies    int           // how many replicas of Redis must have what counts before it counts as written; 0: none
	Clocks    *clock.Clocks // learn Redis' time; nil: of the store's own
	Off       bool          // this process switches all changes off, also on the other replicas, while it beats
	// Away is called each second in which a replica can't reach Redis, and with nil when it can again; nil: nothing is.
	Away func(err error)
	// Damaged is called with what can't be read and is set aside, as KEY or KEY FIELD; nil: nothing is called.
	Damaged func(names []string)

	Timeout time.Duration // of each step towards an answer; zero: a second. Tests give more: machines are busy
}

// Store is what the replicas share in Redis, by concern. Methods fail within two seconds when Redis can't be reached,
// unless they wait by their nature.
type Store struct {
	*client

	Inbox    *Inbox
	Replicas *Replicas
	Slack    *Slack
	Attacks  *Attacks
	Outbox   *Outbox
	Cards    *Cards
	Triage   *Triage
	Ledger   *Ledger
	Audit    *Audit
}

// One type a concern. They share one client.
type (
	// Inbox holds deliveries and the work in them.
	Inbox struct{ *client }
	// Replicas knows which replicas live, and has them share the accounts out.
	Replicas struct{ *client }
	// Slack shares the app's links and the workspace's rate limits out, and marks what is known of its users as stale.
	Slack struct{ *client }
	// Attacks holds what polls found.
	Attacks struct{ *client }
	// Outbox holds events until they are notified.
	Outbox struct{ *client }
	// Cards holds where cards are, and which of them are stale.
	Cards struct{ *client }
	// Triage holds what people said about attacks, what guards and cards go by, the calls of pagers, and drills.
	Triage struct{ *client }
	// Ledger holds the changes to the service, whether they work, approval requests, and what the service refuses. A draft
	// of it has one process at a time change an account.
	Ledger struct{ *client }
	// Audit holds the audit log.
	Audit struct{ *client }
)

// client is what all parts of a store share: the connections, how writes are carried out, and the leases under which
// they are.
type client struct {
	keyspace

	rdb     redis.UniversalClient
	audits  time.Duration // how long entries are kept; 0: always
	copies  int
	clocks  *clock.Clocks
	away    func(err error)
	damaged func(names []string)
	off     bool
	timeout time.Duration // of each step towards an answer
	replica string        // what this process is called among all replicas
	peers   peers
	shards  []*shard
	hold    chan struct{} // asks for the shards to be held at once; holds one
	held    sync.Map      // *owned, by account
}

// opTimeout bounds each step towards an answer: to connect, to send, to receive.
const opTimeout = time.Second

// connections are how many are kept to each server, whatever the number of processors: what has one waits for Redis.
// Where accounts are taken over by the hundred their reads want one each, and the renewal of leases among them.
const connections = 64

// connectionBuffer is how many bytes of a connection are buffered each way. The client's own 32 KiB would be most of
// what a hundred idle ones take.
const connectionBuffer = 8 << 10

// Open makes a Store. It does not wait for Redis: Ping reports whether it is there.
func Open(cfg Config) (*Store, error) {
	a, err := address.Parse(cfg.Address)
	if err != nil {
		return nil, err
	}
	return open(cfg, &redis.UniversalOptions{
		Addrs: a.Hosts, IsClusterMode: a.Cluster, MasterName: a.Master, DB: a.DB, TLSConfig: a.TLS,
		Username: a.Login.Username, Password: a.Login.Password.Reveal(), SentinelUsername: a.Sentinel.Username,
		SentinelPassword: a.Sentinel.Password.Reveal(),
	}), nil
}

func open(cfg Config, opts *redis.UniversalOptions) *Store {
	timeout := cmp.Or(cfg.Timeout, opTimeout)
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = timeout, timeout, timeout, timeout
	opts.PoolSize, opts.ReadBufferSize, opts.WriteBufferSize = connections, connectionBuffer, connectionBuffer
	opts.MaxRetries = -1   // none: a repeat can do harm, and hides whether the first attempt was sent
	opts.DialerRetries = 1 // none: a refused connection is an error at once
	opts.ContextTimeoutEnabled = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // Redis Enterprise's alone
	if cfg.Away == nil {
		cfg.Away = func(error) {}
	}
	if cfg.Damaged == nil {
		cfg.Damaged = func([]string) {}
	}
	rdb := redis.NewUniversalClient(opts)
	s := &client{
		keyspace: keyspace(cfg.KeyPrefix), rdb: rdb, audits: cfg.AuditKeep, copies: cfg.Copies, away: cfg.Away,
		damaged: cfg.Damaged, off: cfg.Off,
		clocks:  cmp.Or(cfg.Clocks, clock.New()),
		timeout: timeout, replica: newReplica(), peers: peers{changed: make(chan struct{})}, hold: make(chan struct{}, 1),
	}
	s.shards = newShards(s)
	rdb.AddHook(once{timeout: s.callTimeout(), lost: s.moved})
	if cluster, ok := rdb.(*redis.ClusterClient); ok { // whose servers are asked by themselves, too
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(mend{s}) })
	} else {
		rdb.AddHook(mend{s})
	}
	return &Store{
		client: s,
		Inbox:  &Inbox{s}, Replicas: &Replicas{s}, Slack: &Slack{s}, Attacks: &Attacks{s}, Outbox: &Outbox{s},
		Cards: &Cards{s}, Triage: &Triage{s}, Ledger: &Ledger{s}, Audit: &Audit{s},
	}
}

// Ping asks Redis to take a write.
func (s *Store) Ping(ctx context.Context) error {
	return wrap(ping.Run(ctx, s.rdb, []string{s.key(keyPing), keyNone(s.key(keyPing))}).Err(), "write to redis")
}

// AddHook lets tests see what is sent to Redis, or have it fail.
func (s *Store) AddHook(h redis.Hook) { s.rdb.AddHook(h) }

// Close gives the connections back.
func (s *Store) Close() error { return s.rdb.Close() }

// LogCalls has the Redis client log what it would print to standard error in a form of its own, as detail: each failed
// dial comes back as an error, too. It is for the whole process, so only main calls it.
func LogCalls() { redis.SetLogger(detail{}) }

type detail struct{}

// Printf implements the client's logger.
func (detail) Printf(ctx context.Context, format string, values ...any) {
	slog.DebugContext(ctx, "redis client: "+fmt.Sprintf(format, values...))
}

// Why the store can't do something. They are for the code and for logs: commands/refusal has the words for people.
var (
	ErrEmptied = errors.New("redis was emptied, and what it lost isn't rebuilt yet")
	ErrChanged = errors.New("somebody else wrote meanwhile") // what was to be written is planned again
	ErrClaimed = errors.New("somebody else carries it out")
	ErrLost    = errors.New("the claim was lost")
	ErrNewer   = errors.New("redis holds the state of a newer wafbot")
	ErrOlder   = errors.New("redis holds the state of an older wafbot, which this one can't read")
	ErrTooOld  = errors.New("redis is older than " + MinVersion + ", which wafbot needs")
	ErrDamaged = errors.New("redis holds what can't be read")
)

// MinVersion is the oldest Redis that knows all the commands in use: XADD takes NOMKSTREAM and MINID since then.
const MinVersion = "6.2"

// TooOld reports whether Redis is older than MinVersion, also where a script says so.
func TooOld(err error) bool { return err != nil && strings.Contains(err.Error(), ErrTooOld.Error()) }

// wrap says of an error what failed; nil stays nil.
func wrap(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)
}
