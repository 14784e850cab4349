package store

import (
	"fmt"
	"strings"
)

// All keys. What stands in braces decides the slot in a cluster: no command and no script touches two of them.
//
//	key                     type    holds                                                 ends; without a time of its own, what bounds it
//	{work-N}:stream         stream  requests that change something, until carried out     when done (XDEL); one for each lane
//	{work-N}:lane:NAME:PERSON list  the id in the stream of the request whose turn it is, when none is left; 65 lines
//	                                then those that wait behind it, as they were accepted
//	{work-N}:delivery:NAME  string  a delivery that was accepted                          1 h
//	{work}:links            zset    Socket Mode links by the Unix ms they are kept to     10 s, renewed
//	{work}:beats            zset    replicas by the Unix ms of their last beat            3 s after a replica's last
//	{work}:off              zset    those of them whose configuration switches all        3 s after the last such
//	                                changes off, likewise                                 one of them
//	{work}:accounts         set     accounts that were configured, as long as they        never; as configured
//	                                are or have changes in force
//	{work}:restart          string  the token of the replica that restarts                10 s
//	{work}:version          string  the version of the state                              never; one
//	{work}:people:ID        string  a mark: what was known of a user before is stale      10 min
//	{work}:ping             string  written to see whether Redis takes writes             1 min
//	{a:NAME}:epoch          string  VERSION ID of this state; none: Redis was emptied     never; one
//	{a:NAME}:first_start    string  time of the first start, as rebuilt, Unix ms          never; one
//	{a:NAME}:lease          string  the token of the replica that owns the account        4 s, renewed
//	{a:NAME}:last_good      string  time of the last complete poll, Unix ms               never; one
//	{a:NAME}:attacks        hash    attack's id → record.AttackState                      out of the lookback; 40,000 and all incidents
//	{a:NAME}:outage         string  record.Outage that people were notified of            when polls work again; one
//	{a:NAME}:cap            string  record.Cap, the last one                              never; one
//	{a:NAME}:gaps           zset    record.Outage of monitoring gaps by the Unix ms of    30 days
//	                                their end
//	{a:NAME}:sources        string  source → record.SourceActivity                        never; 2,000 sources
//	{a:NAME}:evidence:ID    string  record.Evidence of an attack with a card              30 days
//	{a:NAME}:outbox         hash    delivery id → record.Event                            when people are notified; storms bound it
//	{a:NAME}:attempt:ID     string  Unix ms of the first attempt to post a delivery;      7 days, when posted 1 h
//	                                when posted, its place
//	{a:NAME}:cards          hash    attack's id → CHANNEL TS [DELIVERY] of its card       out of the lookback; as attacks
//	{a:NAME}:card:CH:TS     string  the attack whose card that message is                 30 days
//	{a:NAME}:redraw         hash    attack's id → URGENCY SINCE ID: record.RedrawMark;    when redrawn; as attacks
//	                                attack's id CHANNEL TS: of its former card
//	{a:NAME}:triage         hash    attack's id → record.Triage                           out of the lookback; as attacks, 100 notes of each
//	{a:NAME}:mutes          string  all mutes, []record.Mute                              1 s after the last one's end
//	{a:NAME}:protected      string  all protected ranges, []record.Protected              never; 500 ranges
//	{a:NAME}:locked         string  when the service last said that rules are locked      5 min
//	{a:NAME}:pages          hash    attack's id → record.Page, its last                   out of the lookback; as attacks
//	{a:NAME}:drill          string  record.Drill, the last one                            30 min
//	{a:NAME}:permission     string  record.PermissionLoss, the last one                   never; one
//	{a:NAME}:changes        hash    change's id → record.Change                           30 days after its end; what people did meanwhile
//	{a:NAME}:efficacy       hash    change's id → record.Efficacy                         with the change; as changes
//	{a:NAME}:due            zset    change's id by the Unix time at which to check        when ended; as changes
//	{a:NAME}:approvals      hash    request's id → record.ApprovalRequest                 7 days after its end; what people asked meanwhile
//	{a:NAME}:message:ID     string  REVISION CHANNEL TS of an approval request's card, or 30 days
//	                                of a permission loss's notice
//	{a:NAME}:approvals:due  zset    request's id by the Unix time at which to check       when checked; as approvals
//	{a:NAME}:revision       string  a token, new with each write that changes go by       never; one
//	{a:NAME}:claim:ID       string  the token of who carries that change out, and those   3 s, renewed
//	                                that were claimed with it
//	{a:NAME}:audit          stream  record.AuditEntry                                     as configured; audit.keep
//	{a:NAME}:audited        string  the number of the last audit entry                    never; one
//	{a:NAME}:damaged        hash    KEY [FIELD] → a value that couldn't be read; also in  30 days after the last; 50
//	                                the slots of others
//	{c:ID}:pace             hash    tokens of a channel's bucket and their time           when it is full again
//	{edits}:pace            hash    tokens of the bucket of edits and their time          when it is full again
//	{edits}:due             zset    who waits for one by the Unix ms at which it is due   6 s after the last
//	{edits}:next            zset    the same by when it asks again at the latest          6 s after the last
const (
	keyStream       = "{work-%d}:stream"
	keyLane         = "{work-%d}:lane:%s:%s/%s"
	keyDelivery     = "{work-%d}:delivery:%s"
	keyLinks        = "{work}:links"
	keyBeats        = "{work}:beats"
	keyOff          = "{work}:off"
	keyAccounts     = "{work}:accounts"
	keyRestart      = "{work}:restart"
	keyVersion      = "{work}:version"
	keyPeople       = "{work}:people:%s"
	keyPing         = "{work}:ping"
	keyEpoch        = "{a:%s}:epoch"
	keyFirstStart   = "{a:%s}:first_start"
	keyLease        = "{a:%s}:lease"
	keyLastGood     = "{a:%s}:last_good"
	keyAttacks      = "{a:%s}:attacks"
	keyOutage       = "{a:%s}:outage"
	keyCap          = "{a:%s}:cap"
	keyGaps         = "{a:%s}:gaps"
	keySources      = "{a:%s}:sources"
	keyEvidence     = "{a:%s}:evidence:%s"
	keyOutbox       = "{a:%s}:outbox"
	keyAttempt      = "{a:%s}:attempt:%s"
	keyCards        = "{a:%s}:cards"
	keyCardAt       = "{a:%s}:card:%s:%s"
	keyRedraw       = "{a:%s}:redraw"
	keyTriage       = "{a:%s}:triage"
	keyMutes        = "{a:%s}:mutes"
	keyProtected    = "{a:%s}:protected"
	keyLocked       = "{a:%s}:locked"
	keyPages        = "{a:%s}:pages"
	keyDrill        = "{a:%s}:drill"
	keyPermission   = "{a:%s}:permission"
	keyChanges      = "{a:%s}:changes"
	keyEfficacy     = "{a:%s}:efficacy"
	keyDue          = "{a:%s}:due"
	keyApprovals    = "{a:%s}:approvals"
	keyMessage      = "{a:%s}:message:%s"
	keyApprovalsDue = "{a:%s}:approvals:due"
	keyRevision     = "{a:%s}:revision"
	keyClaim        = "{a:%s}:claim:%s"
	keyAudit        = "{a:%s}:audit"
	keyAudited      = "{a:%s}:audited"
	keyDamaged      = "{a:%s}:damaged"
	keyPace         = "{c:%s}:pace"
	keyEdits        = "{edits}:pace"
	keyEditsDue     = "{edits}:due"
	keyEditsNext    = "{edits}:next"
)

// keyspace is what every key of this installation begins with: others may be on the same server, or in the same
// cluster.
type keyspace string

// key is a key of the table. It is the only place that makes one.
func (k keyspace) key(pattern string, of ...any) string {
	return string(k) + fmt.Sprintf(pattern, of...)
}

// keyNone is a key of the same slot that is never there. A script whose first write deletes it is carried out by a
// Redis whose memory is full, too: after a first write, which here needs no memory, Redis takes the others.
func keyNone(like string) string { return keyOf(like, "none") }

// keyOf is the key of that name in another one's slot.
func keyOf(like, name string) string { return like[:strings.Index(like, "}:")+len("}:")] + name }
