package store

import "strings"

// All keys. What stands in braces decides the slot in a cluster: no command and no script touches two of them.
//
//	key                     type    holds                                                 ends; without a time of its own, what bounds it
//	{work}:stream           stream  requests that change something, until carried out     when done (XDEL); one for each lane
//	{work}:lane:NAME:PERSON list    the id in the stream of the request whose turn it is, when none is left; 65 lines
//	                                then those that wait behind it, as they were accepted
//	{work}:delivery:NAME    string  a delivery that was accepted                          1 h
//	{work}:links            zset    Socket Mode links by the Unix ms they are kept to     10 s, renewed
//	{work}:beats            zset    replicas by the Unix ms of their last beat            3 s after a replica's last
//	{work}:wrong_clocks     zset    likewise those whose machine's clock is wrong         3 s after the last's last
//	{work}:version          string  the version of the state                              never; one
//	{work}:people:ID        string  a mark: what was known of a user before is stale      10 min
//	{work}:ping             string  written to see whether Redis takes writes             1 min
//	{a:NAME}:epoch          string  VERSION ID of this state; none: Redis was emptied     never; one
//	{a:NAME}:first_start    string  time of the first start, as rebuilt, Unix ms          never; one
//	{a:NAME}:lease          string  the token of the replica that owns the account        4 s, renewed
//	{a:NAME}:last_good      string  time of the last complete poll, Unix ms               never; one
//	{a:NAME}:attacks        hash    attack's id → record.AttackState                      out of the lookback; 50,000 and all incidents
//	{a:NAME}:outage         string  record.Outage that people were notified of            when polls work again; one
//	{a:NAME}:cap            string  record.Cap, the last one                              never; one
//	{a:NAME}:gaps           zset    record.Outage of monitoring gaps by the Unix ms of    30 days
//	                                their end
//	{a:NAME}:sources        string  source → record.SourceActivity                        never; 2,000 sources
//	{a:NAME}:wanted_cards   set     grouped attacks that are to get a card each           1 h
//	{a:NAME}:evidence:ID    string  record.Evidence of an attack with a card              30 days
//	{a:NAME}:outbox         hash    delivery id → record.Event                            when people are notified; storms bound it
//	{a:NAME}:attempt:ID     string  Unix ms of the first attempt to post a delivery;      7 days, when posted 1 h
//	                                when posted, its place
//	{a:NAME}:cards          hash    attack's id → CHANNEL TS [DELIVERY] of its card       out of the lookback; as attacks
//	{a:NAME}:card:CH:TS     string  the attack whose card that message is                 30 days
//	{a:NAME}:redraw         hash    attack's id → URGENCY SINCE ID: record.RedrawMark;    when redrawn; as attacks
//	                                attack's id CHANNEL TS: of its former card;
//	                                attack's id title: of its card, which lacks its title
//	{a:NAME}:triage         hash    attack's id → record.Triage                           out of the lookback; as attacks, 100 notes of each
//	{a:NAME}:mutes          string  all mutes, []record.Mute                              1 s after the last one's end
//	{a:NAME}:protected      string  all protected ranges, []record.Protected              never; 500 ranges
//	{a:NAME}:locked         string  when the service last said that rules are locked      5 min
//	{a:NAME}:pages          hash    attack's id → record.Page, its last                   out of the lookback; as attacks
//	{a:NAME}:drill          hash    "drill" and "card" of record.Drill, the last one      24 h
//	{a:NAME}:permission     string  record.PermissionLoss, the last one                   never; one
//	{a:NAME}:permission:at  string  ID REVISION CHANNEL TS of the last one's notice       never; one
//	{a:NAME}:changes        hash    change's id → record.Change                           30 days after its end; what people did meanwhile
//	{a:NAME}:efficacy       hash    change's id → record.Efficacy                         with the change; as changes
//	{a:NAME}:due            zset    change's id by the Unix time at which to check        when ended; as changes
//	{a:NAME}:approvals      hash    request's id → record.ApprovalRequest                 7 days after its end; what people asked meanwhile
//	{a:NAME}:approvals:at   hash    request's id → REVISION CHANNEL TS of its card        with the request; as approvals
//	{a:NAME}:approvals:due  zset    request's id by the Unix time at which to check       when checked; as approvals
//	{a:NAME}:revision       string  a token, new with each write that changes go by       never; one
//	{a:NAME}:claim:ID       string  the token of who carries that change out, and those   3 s, renewed
//	                                that were claimed with it
//	{a:NAME}:audit          stream  record.AuditEntry                                     as configured; audit.max_entries
//	{a:NAME}:audited        string  the number of the last audit entry                    never; one
//	{c:ID}:pace             hash    tokens of a channel's bucket and their time           when it is full again
//	{w:TEAM}:edits          hash    tokens of the workspace's edits and their time        when it is full again
const (
	keyStream      = "{work}:stream"
	keyLinks       = "{work}:links"
	keyBeats       = "{work}:beats"
	keyWrongClocks = "{work}:wrong_clocks"
	keyVersion     = "{work}:version"
	keyPing        = "{work}:ping"
)

func keyLane(name string) string     { return "{work}:lane:" + name }
func keyDelivery(name string) string { return "{work}:delivery:" + name }
func keyPeople(of string) string     { return "{work}:people:" + of }

func accountKey(account, name string) string { return "{a:" + account + "}:" + name }

func keyEpoch(account string) string        { return accountKey(account, "epoch") }
func keyLease(account string) string        { return accountKey(account, "lease") }
func keyFirstStart(account string) string   { return accountKey(account, "first_start") }
func keyLastGood(account string) string     { return accountKey(account, "last_good") }
func keyOutage(account string) string       { return accountKey(account, "outage") }
func keyCap(account string) string          { return accountKey(account, "cap") }
func keyGaps(account string) string         { return accountKey(account, "gaps") }
func keyAttacks(account string) string      { return accountKey(account, "attacks") }
func keyWantedCards(account string) string  { return accountKey(account, "wanted_cards") }
func keyOutbox(account string) string       { return accountKey(account, "outbox") }
func keyCards(account string) string        { return accountKey(account, "cards") }
func keyRedraw(account string) string       { return accountKey(account, "redraw") }
func keyTriage(account string) string       { return accountKey(account, "triage") }
func keyMutes(account string) string        { return accountKey(account, "mutes") }
func keyProtected(account string) string    { return accountKey(account, "protected") }
func keyLocked(account string) string       { return accountKey(account, "locked") }
func keySources(account string) string      { return accountKey(account, "sources") }
func keyPermission(account string) string   { return accountKey(account, "permission") }
func keyPermissionAt(account string) string { return accountKey(account, "permission:at") }
func keyChanges(account string) string      { return accountKey(account, "changes") }
func keyEfficacy(account string) string     { return accountKey(account, "efficacy") }
func keyApprovals(account string) string    { return accountKey(account, "approvals") }
func keyApprovalsAt(account string) string  { return accountKey(account, "approvals:at") }
func keyApprovalsDue(account string) string { return accountKey(account, "approvals:due") }
func keyDue(account string) string          { return accountKey(account, "due") }
func keyRevision(account string) string     { return accountKey(account, "revision") }
func keyAudit(account string) string        { return accountKey(account, "audit") }
func keyAudited(account string) string      { return accountKey(account, "audited") }
func keyPages(account string) string        { return accountKey(account, "pages") }
func keyDrill(account string) string        { return accountKey(account, "drill") }

func keyClaim(account, change string) string { return accountKey(account, "claim:"+change) }

func keyAttempt(account, delivery string) string { return accountKey(account, "attempt:"+delivery) }

func keyEvidence(account, attack string) string { return accountKey(account, "evidence:"+attack) }

func keyCardAt(account, channel, ts string) string {
	return accountKey(account, "card:"+channel+":"+ts)
}

// keyNone is a key of the same slot that is never there. A script whose first write deletes it is carried out by a Redis whose memory is full, too: after a
// first write, which here needs no memory, Redis takes the others.
func keyNone(like string) string { return like[:strings.Index(like, "}:")] + "}:none" }

func keyPace(channel string) string { return "{c:" + channel + "}:pace" }
func keyEdits(team string) string   { return "{w:" + team + "}:edits" }
