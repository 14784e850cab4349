-- Stores that a delivery is about to be posted, unless the lease under which it is to be posted is lost.
-- KEYS[1] the delivery, KEYS[2] the lease, may be left out.
-- ARGV[1] the time in Unix ms, ARGV[2] how long it is stored in ms, ARGV[3] the token that the lease must hold.
-- Result: what was stored before, empty if nothing was; nothing, if the lease is lost. DEL deletes nothing, but after
-- it a full Redis takes the SET, too.
if KEYS[2] and redis.call('GET', KEYS[2]) ~= ARGV[3] then return false end
local before = redis.call('GET', KEYS[1])
if before then return before end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ''
