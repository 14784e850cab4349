-- Holds the work that a replica has in hand. If it works, it gives it again what is its own and not in hand, because an
-- answer was lost, then what nobody has held for too long, and then what is new. A replica that merely was away and
-- comes back finds its work gone. One that leaves gives its work up at once. Whoever has no work any more and is away is
-- deleted from the group; who reads is in it again.
-- KEYS[1] the stream.
-- ARGV[1] the group, ARGV[2] the replica, ARGV[3] after how many ms work that isn't held is anybody's, ARGV[4] 1 if the
-- replica leaves, ARGV[5] 1 if it works, the others the ids of what it has in hand.
-- Result: 0, then what it is given.
if redis.call('EXISTS', KEYS[1]) == 0 then return {0, {}} end
local dead, leaves, most = tonumber(ARGV[3]), ARGV[4] == '1', 100000
local works, given, inHand, away = ARGV[5] == '1' and not leaves, {}, {}, {}
local function give(entries)
  for _, entry in ipairs(entries) do table.insert(given, entry) end
end
for i = 6, #ARGV do inHand[ARGV[i]] = true end
local mine = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', most, ARGV[2])
local group = not mine.err
for _, p in ipairs(group and mine or {}) do
  if leaves then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, p[1], 'IDLE', dead, 'JUSTID')
  elseif inHand[p[1]] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, p[1], 'JUSTID')
  elseif works then
    give(redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, p[1]))
  end
end
if group and leaves and #mine == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
if not works then return {0, {}} end
if group then
  for _, p in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', dead, '-', '+', most)) do
    give(redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, p[1]))
    away[p[2]] = true
  end
  for _, c in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
    if c[4] == 0 and (away[c[2]] or c[6] >= dead) then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], c[2]) end
  end
end
give(takeNew(KEYS[1], ARGV[1], ARGV[2]))
return {0, given}
