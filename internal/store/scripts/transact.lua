-- Carries out commands in one step, if keys hold what they should: a replica that lost a lease must not overwrite what
-- the next owner stored since, and what was planned must still hold.
-- KEYS: those of the conditions, then all that the commands touch, last one of keyNone.
-- ARGV[1] how many conditions there are, then what each key must hold, '-' if nothing, then the commands, each as the
-- number of its words and the words. Three are no commands of Redis: AUDIT counter stream oldest entry numbers an
-- entry, appends it, and deletes those before the oldest id; STALE queue attack urgency id marks a card stale (of two
-- marks the higher urgency and the earlier time stay); ORPHANS triage attacks deletes the triage of attacks that
-- aren't stored.
-- Result: -1 if nothing was done; else the entry's number, 0 if there was none.
local conditions = tonumber(ARGV[1])
for i = 1, conditions do
  local held = redis.call('GET', KEYS[i]) or ''
  if (held == '' and '-' or held) ~= ARGV[i + 1] then return -1 end
end
local at, number = conditions + 2, 0
while at <= #ARGV do
  local n = tonumber(ARGV[at])
  local words = {}
  for i = 1, n do words[i] = ARGV[at + i] end
  if words[1] == 'AUDIT' then
    if redis.call('EXISTS', words[2]) == 0 then
      local last = redis.call('XREVRANGE', words[3], '+', '-', 'COUNT', 1)[1]
      redis.call('SET', words[2], last and string.match(last[2][2], '^%d+$') or '0')
    end
    number = redis.call('INCR', words[2])
    redis.call('XADD', words[3], 'MINID', '~', words[4], '*', 'n', number, 'entry', words[5])
  elseif words[1] == 'STALE' then
    local t = redis.call('TIME')
    local urgency, since = tonumber(words[4]), string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
    local before, from = string.match(redis.call('HGET', words[2], words[3]) or '', '^(%d+) (%d+) ')
    if before then urgency, since = math.min(urgency, tonumber(before)), from end
    redis.call('HSET', words[2], words[3], urgency .. ' ' .. since .. ' ' .. words[5])
  elseif words[1] == 'ORPHANS' then
    for _, attack in ipairs(redis.call('HKEYS', words[2])) do
      if redis.call('HEXISTS', words[3], attack) == 0 then redis.call('HDEL', words[2], attack) end
    end
  else
    redis.call(unpack(words))
  end
  at = at + n + 1
end
return number
