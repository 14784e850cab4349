-- Deletes a mark unless the card became stale again meanwhile.
-- KEYS[1] the redraw queue.
-- ARGV[1] the attack, ARGV[2] the mark that was drawn.
-- Result: 1 if it was deleted, else 0.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
