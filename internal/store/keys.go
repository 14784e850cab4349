package store

// All keys. What stands in braces decides the slot in a cluster: no command and no script touches two of them.
//
//	key                    type    holds                                              ends
//	{work}:stream          stream  requests that change something, until carried out  when done (XDEL)
//	{work}:seen:NAME       string  a delivery that was taken                          1 h
//	{work}:links           zset    Socket Mode links by the Unix ms they are kept to  10 s, renewed
//	{work}:beats           zset    replicas by the Unix ms of their last beat         3 s after a replica's last
//	{work}:version         string  the version of the state                           never
//	{work}:people:ID       string  a mark: what was known of a person before is over  10 min
//	{work}:ping            string  a trial whether Redis takes writes                 1 min
//	{a:NAME}:epoch         string  VERSION ID: this memory; none: it was emptied      never
//	{a:NAME}:began         string  when the first start was told, as read back        never
//	{a:NAME}:lease         string  the token of the replica that tends the account    4 s, renewed
//	{a:NAME}:good          string  the last good poll, Unix milliseconds              never
//	{a:NAME}:shown         hash    attack's id → poller.Shown                         out of the lookback
//	{a:NAME}:blind         string  poller.Spell in which it can't be watched          when watched again
//	{a:NAME}:absences      zset    poller.Absence by the Unix ms of its end           30 days
//	{a:NAME}:wanted        set     gathered attacks that are to get a card each       1 h
//	{a:NAME}:evidence:ID   string  poller.Evidence of an attack that was told         30 days
//	{a:NAME}:outbox        hash    delivery id → poller.News to be told               when told
//	{a:NAME}:tried:ID      string  Unix ms of the first attempt; when told, its place 7 days, when told 1 h
//	{a:NAME}:cards         hash    attack's id → CHANNEL TS [DELIVERY] of its card    out of the lookback
//	{a:NAME}:card:CH:TS    string  the attack whose card that message is              30 days
//	{a:NAME}:redraw        hash    attack's id → URGENCY SINCE ID: commands.Mark;     when redrawn
//	                               attack's id CHANNEL TS: of its former card
//	{a:NAME}:cases         hash    attack's id → commands.Case                        out of the lookback
//	{a:NAME}:pages         hash    attack's id → commands.Page, its last              out of the lookback
//	{a:NAME}:drill         hash    "drill" and "card" of commands.Drill, the last one 24 h
//	{a:NAME}:mutes         string  all mutes, []commands.Mute                         1 s after the last one's end
//	{a:NAME}:protected     string  what may never be denied, []commands.Protected     never
//	{a:NAME}:locked        string  when the service said last that rules are locked   5 min
//	{a:NAME}:seen          string  source → how many attacks and applications         never
//	{a:NAME}:tied          string  commands.Tied, the last one                        never
//	{a:NAME}:tied:at       string  ID REVISION CHANNEL TS of the last one's notice    never
//	{a:NAME}:changes       hash    change's id → commands.Change                      30 days after its end
//	{a:NAME}:effects       hash    change's id → commands.Effect                      with the change
//	{a:NAME}:requests      hash    request's id → commands.Request                    7 days after its end
//	{a:NAME}:requests:at   hash    request's id → REVISION CHANNEL TS of its card     with the request
//	{a:NAME}:requests:due  zset    request's id by the Unix time at which to look     when looked at
//	{a:NAME}:due           zset    change's id by the Unix time at which to look      when ended
//	{a:NAME}:lock          string  the token of who changes the account               4 s, renewed
//	{a:NAME}:audit         stream  audit entries                                      as configured
//	{a:NAME}:audited       string  the number of the last audit entry                 never
//	{c:ID}:pace            hash    tokens of a channel's bucket and their time        when it is full again
//	{w:TEAM}:edits         hash    tokens of the workspace's edits and their time     when it is full again
const (
	keyStream  = "{work}:stream"
	keyLinks   = "{work}:links"
	keyBeats   = "{work}:beats"
	keyVersion = "{work}:version"
	keyPing    = "{work}:ping"
)

func keyDelivery(name string) string { return "{work}:seen:" + name }
func keyPeople(of string) string     { return "{work}:people:" + of }

func accountKey(account, name string) string { return "{a:" + account + "}:" + name }

func keyEpoch(account string) string        { return accountKey(account, "epoch") }
func keyLease(account string) string        { return accountKey(account, "lease") }
func keyFirstStart(account string) string   { return accountKey(account, "began") }
func keyLastGood(account string) string     { return accountKey(account, "good") }
func keyOutage(account string) string       { return accountKey(account, "blind") }
func keyGaps(account string) string         { return accountKey(account, "absences") }
func keyAttacks(account string) string      { return accountKey(account, "shown") }
func keyWantedCards(account string) string  { return accountKey(account, "wanted") }
func keyOutbox(account string) string       { return accountKey(account, "outbox") }
func keyCards(account string) string        { return accountKey(account, "cards") }
func keyRedraw(account string) string       { return accountKey(account, "redraw") }
func keyTriage(account string) string       { return accountKey(account, "cases") }
func keyMutes(account string) string        { return accountKey(account, "mutes") }
func keyProtected(account string) string    { return accountKey(account, "protected") }
func keyLocked(account string) string       { return accountKey(account, "locked") }
func keySources(account string) string      { return accountKey(account, "seen") }
func keyPermission(account string) string   { return accountKey(account, "tied") }
func keyPermissionAt(account string) string { return accountKey(account, "tied:at") }
func keyChanges(account string) string      { return accountKey(account, "changes") }
func keyEfficacy(account string) string     { return accountKey(account, "effects") }
func keyApprovals(account string) string    { return accountKey(account, "requests") }
func keyApprovalsAt(account string) string  { return accountKey(account, "requests:at") }
func keyApprovalsDue(account string) string { return accountKey(account, "requests:due") }
func keyDue(account string) string          { return accountKey(account, "due") }
func keyLock(account string) string         { return accountKey(account, "lock") }
func keyAudit(account string) string        { return accountKey(account, "audit") }
func keyAudited(account string) string      { return accountKey(account, "audited") }
func keyPages(account string) string        { return accountKey(account, "pages") }
func keyDrill(account string) string        { return accountKey(account, "drill") }

func keyAttempt(account, delivery string) string { return accountKey(account, "tried:"+delivery) }

func keyEvidence(account, attack string) string { return accountKey(account, "evidence:"+attack) }

func keyCardAt(account, channel, ts string) string {
	return accountKey(account, "card:"+channel+":"+ts)
}

func keyPace(channel string) string { return "{c:" + channel + "}:pace" }
func keyEdits(team string) string   { return "{w:" + team + "}:edits" }
