-- Postpones a lease's end if it is still held.
-- KEYS[1] the lease.
-- ARGV[1] the holder's token, ARGV[2] its length in ms.
-- Result: 1 if held, else 0.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
