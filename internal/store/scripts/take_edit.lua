-- takeSlot for edits, which have their turn: who asks and is refused waits, and of those that wait the one that is due
-- first gets the next.
-- KEYS[1] the bucket, KEYS[2] who waits by when it is due, KEYS[3] the same by when it asks again at the latest, in
-- ms.
-- ARGV[1] to ARGV[3] as of takeSlot, ARGV[4] who asks, ARGV[5] when it is due, ARGV[6] and ARGV[7] the most ms until
-- it is to ask again, and how late it may.
-- Result: 0 if one was taken, else the ms after which to ask again. One that doesn't ask again waits no longer: its
-- replica is gone, or its card is.
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens, now = open(KEYS[1], rate, burst)
local gone = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now)
gone[#gone + 1] = ARGV[4]
for _, of in ipairs(gone) do
  redis.call('ZREM', KEYS[2], of)
  redis.call('ZREM', KEYS[3], of)
end
local least = 1 + ARGV[3] + redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. ARGV[5])
local wait = 0
if tokens >= least then
  tokens = tokens - 1
else
  wait = math.min(math.ceil((least - tokens) * 1000 / rate), tonumber(ARGV[6]))
  redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
  redis.call('ZADD', KEYS[3], now + wait + ARGV[7], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[6] + ARGV[7])
  redis.call('PEXPIRE', KEYS[3], ARGV[6] + ARGV[7])
end
keep(KEYS[1], rate, burst, tokens, now)
return wait
