-- Accepts a delivery once and stores the work in it, if there is any. A delivery has several names when it can come in
-- several ways. Work belongs to a lane, and is carried out in order there. The lane's list begins with the id in the
-- stream of the work whose turn it is; behind it, as they were accepted, wait those that aren't in the stream yet. No
-- lane gets stuck: the script that begins a list also puts the work of its first id into the stream (accept), and the
-- one that takes that work off the stream takes the id off the list, too, and puts the next work in the place of both
-- (settle). So behind each list stands work that a replica has in hand, or gets when that replica dies.
-- KEYS[1] the stream, KEYS[2] the lane, the others the delivery's names.
-- ARGV[1] how long these are stored in ms, ARGV[2] the work, may be left out, ARGV[3] how many may wait, ARGV[4] the
-- group, ARGV[5] the replica that takes what is new in hand, '' if none does.
-- Result: 1 if none of the names was known, else 0; -n if n wait already: then the delivery was refused, once for all.
-- Then what is new.
local fresh = 1
for i = 3, #KEYS do
  if not redis.call('SET', KEYS[i], '1', 'NX', 'PX', ARGV[1]) then fresh = 0 end
end
if fresh == 0 or not ARGV[2] then return {fresh, {}} end
local head = redis.call('LINDEX', KEYS[2], 0)
local turn = head and redis.pcall('XRANGE', KEYS[1], head, head)
if turn and not turn[1] then -- its work is gone, or it is no id: the next one's turn comes
  redis.call('LPOP', KEYS[2])
  local work = redis.call('LPOP', KEYS[2])
  if work then redis.call('LPUSH', KEYS[2], redis.call('XADD', KEYS[1], '*', 'work', work, 'lane', KEYS[2])) end
end
local lane = redis.call('LLEN', KEYS[2])
if lane > tonumber(ARGV[3]) then return {1 - lane, {}} end
if lane > 0 then
  redis.call('RPUSH', KEYS[2], ARGV[2])
  return {1, {}}
end
redis.call('RPUSH', KEYS[2], redis.call('XADD', KEYS[1], '*', 'work', ARGV[2], 'lane', KEYS[2]))
return {1, ARGV[5] ~= '' and takeNew(KEYS[1], ARGV[4], ARGV[5]) or {}}
