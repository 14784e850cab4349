-- Functions of scripts: a bucket's tokens, which fill with time by Redis' own clock, so that all replicas share it,
-- and the ms of that clock; and how it is kept with other tokens. After DEL a full Redis takes the HSET, and what the
-- script writes between, too.
local function open(key, rate, burst)
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local b = redis.call('HMGET', key, 'tokens', 'at')
  redis.call('DEL', key)
  local tokens, at = tonumber(b[1]), tonumber(b[2])
  if not (tokens and at and tokens >= 0) then return burst, now end -- unreadable, or there is none
  return math.min(burst, tokens + math.max(0, now - at) * rate / 1000), now
end
local function keep(key, rate, burst, tokens, now)
  redis.call('HSET', key, 'tokens', tostring(tokens), 'at', tostring(now))
  redis.call('PEXPIRE', key, math.ceil(burst * 1000 / rate) + 1000)
end
