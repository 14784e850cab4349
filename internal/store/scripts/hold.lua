-- Says that a replica lives in a shard. If it works, it gives it the work in hand of dead replicas, and deletes these
-- from the group, and what is new. A replica that merely was away and comes back finds its work gone. After
-- ZREMRANGEBYSCORE a full Redis takes the ZADD, too.
-- KEYS[1] the stream, KEYS[2] the beats in this shard.
-- ARGV[1] the group, ARGV[2] the replica, ARGV[3] after how many ms without a beat a replica is dead, ARGV[4] 1 if it
-- works.
-- Result: how many pieces of dead replicas it was given, then what is new.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3])
redis.call('ZADD', KEYS[2], now, ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
if ARGV[4] ~= '1' or redis.call('EXISTS', KEYS[1]) == 0 then return {0, {}} end
local given = 0
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
for _, c in ipairs(consumers.err and {} or consumers) do
  local name = c[2]
  if not redis.call('ZSCORE', KEYS[2], name) then
    local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1000, name)
    for _, p in ipairs(pending) do
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, p[1], 'JUSTID')
      given = given + 1
    end
    if #pending < 1000 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name) end
  end
end
return {given, takeNew(KEYS[1], ARGV[1], ARGV[2])}
