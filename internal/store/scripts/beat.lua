-- Says that a replica lives, unless the state is of another version than it reads, and what the others say. Redis' own
-- clock is right for all; in a cluster each server has one of its own.
-- KEYS[1] the beats, KEYS[2] the version of the state, KEYS[3] the beats of replicas that switch all changes off,
-- KEYS[4] one of keyNone.
-- ARGV[1] the replica, empty if none beats: then nothing is written; ARGV[2] after how many ms without a beat a replica
-- is dead, ARGV[3] the version that is read, which an empty Redis takes on, ARGV[4] 1 if the replica switches all
-- changes off.
-- Result: the version of the state, empty in an empty Redis, and unless it is another one than is read, how many replicas
-- switch changes off, Redis' time in Unix µs, then all living ones in no order. After ZREMRANGEBYSCORE a full Redis takes
-- the ZADD, too.
local version, beats = redis.call('GET', KEYS[2]) or '', ARGV[1] ~= ''
if version == '' and beats then
  version = ARGV[3]
  redis.call('SET', KEYS[2], version)
end
if version ~= ARGV[3] and version ~= '' then return {version} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local living = '(' .. string.format('%.0f', now - ARGV[2])
if beats then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[2])
  if ARGV[4] == '1' then
    redis.call('ZADD', KEYS[3], now, ARGV[1])
    redis.call('PEXPIRE', KEYS[3], ARGV[2])
  else
    redis.call('ZREM', KEYS[3], ARGV[1])
  end
end
local off = redis.call('ZCOUNT', KEYS[3], living, '+inf')
local answer = {version, tostring(off), t[1] .. string.format('%06d', t[2])}
for _, replica in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], living, '+inf')) do
  table.insert(answer, replica)
end
return answer
