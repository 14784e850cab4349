-- Counts the replicas that beat, by Redis' own clock.
-- KEYS[1] the beats.
-- ARGV[1] after how many ms without a beat a replica is dead.
-- Result: their number.
local t = redis.call('TIME')
return redis.call('ZCOUNT', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[1], '+inf')
