-- Records the place of a delivery, unless another is recorded, and takes it off the outbox. A card whose place another
-- takes is marked stale, to be redrawn once more as a link to its successor. A card whose attack was dropped since is
-- the attack's again. An attack that isn't stored, as its event waited for so long, gets none: nobody would delete
-- that.
-- KEYS[1] the outbox, KEYS[2] the delivery, KEYS[3] the cards, KEYS[4] the attack of that message, KEYS[5] the redraw
-- queue, KEYS[6] the delivery of the attack's first card, which has the place of the last one, KEYS[7] the attacks.
-- ARGV[1] the delivery's id, ARGV[2] its place, ARGV[3] how long that is stored in ms, ARGV[4] the attack whose card
-- it is, empty if it is none, ARGV[5] how long the attack is stored by place in ms, ARGV[6] the place with what the
-- cards hold beside it, ARGV[7] the place of the lost card, whose place alone it may take, empty if it may take any,
-- ARGV[8] a mark for the former card, empty if that is gone.
-- Result: the place that is recorded; empty if the delivery is unknown, because Redis was emptied.
local waits = redis.call('HDEL', KEYS[1], ARGV[1])
local before = redis.call('GET', KEYS[2])
local stored = ARGV[4] ~= '' and redis.call('HEXISTS', KEYS[7], ARGV[4]) == 1
if before and (before == ' ' or string.match(before, '^%S+ %S')) then
  local known = redis.call('HGET', KEYS[3], ARGV[4]) or ''
  if stored and before ~= ' ' and not string.match(known, '^%S+ %S') then redis.call('HSET', KEYS[3], ARGV[4], before) end
  return before
end
if waits == 0 and not before then return '' end
if ARGV[4] ~= '' then
  local was = redis.call('HGET', KEYS[3], ARGV[4])
  was = was and string.match(was, '^%S+ %S+') or ''
  if ARGV[7] ~= '' and was ~= '' and was ~= ARGV[7] then return was end
  if ARGV[8] ~= '' and was ~= '' and was ~= ARGV[2] then redis.call('HSET', KEYS[5], ARGV[4] .. ' ' .. was, ARGV[8]) end
  if stored then redis.call('HSET', KEYS[3], ARGV[4], ARGV[6]) end
  redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
  redis.call('SET', KEYS[6], ARGV[2], 'PX', ARGV[3])
end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return ARGV[2]
