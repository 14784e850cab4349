-- A function of scripts: it gives a replica the oldest work of a stream that none has had yet, as id and fields. Who
-- makes the group first has it begin at the stream's first entry.
local function takeNew(stream, group, replica)
  local function read()
    return redis.pcall('XREADGROUP', 'GROUP', group, replica, 'COUNT', 64, 'STREAMS', stream, '>')
  end
  local found = read()
  if found and found.err then
    redis.pcall('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
    found = read()
  end
  return found and found[1] and found[1][2] or {}
end
