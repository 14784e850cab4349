-- Tells a process that doesn't beat what a beat would have told it about switches, the time and the state's version:
-- in a cluster each server has a clock of its own.
-- KEYS[1] the beats of replicas that switch all changes off, KEYS[2] the version of the state, KEYS[3] one of keyNone.
-- ARGV[1] after how many ms without a beat a replica is dead.
-- Result: how many of them live, Redis' time in Unix µs, and the version, empty in an empty Redis.
local t = redis.call('TIME')
local off = redis.call('ZCOUNT', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[1], '+inf')
return {tostring(off), t[1] .. string.format('%06d', t[2]), redis.call('GET', KEYS[2]) or ''}
