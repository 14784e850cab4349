-- Says that a replica lives, unless the state is of another version than it reads. Redis' own clock is right for all.
-- KEYS[1] the beats, KEYS[2] the version of the state, KEYS[3] the beats of replicas that switch all changes off,
-- KEYS[4] one of keyNone.
-- ARGV[1] the replica, ARGV[2] after how many ms without a beat a replica is dead, ARGV[3] the version that the
-- replica reads, which an empty Redis takes on, ARGV[4] 1 if it switches all changes off.
-- Result: the version of the state, and if it is the one that the replica reads, how many replicas switch changes off,
-- Redis' time in Unix µs, then all living ones in no order. After ZREMRANGEBYSCORE a full Redis takes the ZADD, too.
local version = redis.call('GET', KEYS[2])
if not version then
  version = ARGV[3]
  redis.call('SET', KEYS[2], version)
end
if version ~= ARGV[3] then return {version} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if ARGV[4] == '1' then
  redis.call('ZADD', KEYS[3], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
else
  redis.call('ZREM', KEYS[3], ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[2])
local answer = {version, tostring(redis.call('ZCARD', KEYS[3])), t[1] .. string.format('%06d', t[2])}
for _, replica in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  table.insert(answer, replica)
end
return answer
