-- Passes the turn of work in its lane, or takes the work off the stream, which passes its turn as well if it wasn't
-- yet; unless another replica has taken the work over, which then passes the turn. Doing it twice does no more than
-- doing it once. LPOP comes first: after a first write Redis takes the others even if its memory is full.
-- KEYS[1] the stream, KEYS[2] the lane.
-- ARGV[1] the group, ARGV[2] the replica, ARGV[3] the work's id, ARGV[4] the replica that takes what is new in hand,
-- '' if none does, ARGV[5] pass, done, or ask: then nothing changes.
-- Result: 0 if another replica has the work, else 1. Then what is new.
local p = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if p.err or #p == 0 then return {1, {}} end
if p[1][2] ~= ARGV[2] then return {0, {}} end
if ARGV[5] == 'ask' then return {1, {}} end
local fresh = {}
if redis.call('LINDEX', KEYS[2], 0) == ARGV[3] then
  redis.call('LPOP', KEYS[2])
  local work = redis.call('LPOP', KEYS[2])
  if work then
    redis.call('LPUSH', KEYS[2], redis.call('XADD', KEYS[1], '*', 'work', work, 'lane', KEYS[2]))
    if ARGV[4] ~= '' then fresh = takeNew(KEYS[1], ARGV[1], ARGV[4]) end
  end
end
if ARGV[5] == 'done' then
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
  redis.call('XDEL', KEYS[1], ARGV[3])
end
return {1, fresh}
