-- Gives a lease back if it is still held.
-- KEYS[1] the lease.
-- ARGV[1] the holder's token.
-- Result: 1 if it was held, else 0.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
