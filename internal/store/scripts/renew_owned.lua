-- Renews the lease of an account and reads what there is to do, and what polls go by.
-- KEYS[1] the lease, KEYS[2] the outbox, KEYS[3] the redraw queue, KEYS[4] the due changes, KEYS[5] the due requests,
-- KEYS[6] the number of the last audit entry, KEYS[7] the mutes.
-- ARGV[1] the holder's token, ARGV[2] the lease's length in ms.
-- Result: how many events and stale cards there are, the Unix time of the first due change or request, -1 if there is
-- none, the number of the last audit entry, and the mutes as JSON; nothing, if the lease is lost.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local due = -1
for i = 4, 5 do
  local first = tonumber(redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2] or '-1')
  if first >= 0 and (due < 0 or first < due) then due = first end
end
return {
  redis.call('HLEN', KEYS[2]), redis.call('HLEN', KEYS[3]), math.floor(due),
  tonumber(redis.call('GET', KEYS[6]) or '0'), redis.call('GET', KEYS[7]) or 'null'
}
