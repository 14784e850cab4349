-- Sets aside what can't be read, unless it was overwritten meanwhile.
-- KEYS[1] where to, then the keys: those that hold a wrong kind of value.
-- ARGV[1] for how long in ms, ARGV[2] how much there may be, ARGV[3] and ARGV[4] the one field or member, empty if it
-- is the whole value, and the text that can't be read, left out if kinds alone are wrong.
-- Result: the names of what was set aside. Deleting comes first: then a full Redis takes it, too.
local names = {}
local function put(name, value)
  local held = redis.call('HKEYS', KEYS[1])
  if #held >= tonumber(ARGV[2]) then redis.call('HDEL', KEYS[1], held[1]) end
  redis.call('HSET', KEYS[1], name, value)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  local of, field = string.match(name, '}:([%l_]+)(.*)$')
  if ({epoch = 1, attacks = 1, last_good = 1})[of] or ({cards = 1, changes = 1})[of] and field == '' then -- its next owner rebuilds it: else it would post again
    local account = string.match(name, '^.-}:')
    redis.call('DEL', account .. 'epoch', account .. 'lease')
  end
  table.insert(names, name)
end
if wrong(KEYS[1]) then redis.call('DEL', KEYS[1]) end
for i = 2, #KEYS do
  local key, field, text = KEYS[i], ARGV[3], ARGV[4]
  local is = redis.call('TYPE', key).ok
  if wrong(key) then
    local dump = redis.pcall('DUMP', key)
    redis.call('DEL', key)
    put(key, type(dump) == 'string' and dump or '')
  elseif text and is == 'string' and redis.call('GET', key) == text then
    redis.call('DEL', key)
    put(key, text)
  elseif text and is == 'hash' and redis.call('HGET', key, field) == text then
    redis.call('HDEL', key, field)
    put(key .. ' ' .. field, text)
  elseif text and is == 'zset' and redis.call('ZREM', key, text) == 1 then
    put(key .. ' ' .. text, text)
  end
end
return names
