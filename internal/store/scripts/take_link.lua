-- Takes or renews one of the app's links, by Redis' own clock.
-- KEYS[1] the links.
-- ARGV[1] the link, ARGV[2] how many may be taken with it, ARGV[3] how long it is taken in ms.
-- Result: 1 if it is taken, else 0.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[2]) then return 1 end
redis.call('ZREM', KEYS[1], ARGV[1])
return 0
