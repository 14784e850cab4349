-- Takes a free lease of an account whose state has begun. Its holder may take it again: the answer to the first
-- request may be lost.
-- KEYS[1] the lease, KEYS[2] the account's epoch, KEYS[3] one of keyNone.
-- ARGV[1] the holder's token, ARGV[2] its length in ms, ARGV[3] the version of the state that the taker reads, ARGV[4]
-- '1' if it may be taken without an epoch.
-- Result: taken, busy, empty (there is no epoch), newer or older (the state is of another version). After DEL a full
-- Redis takes the SET, too.
local epoch = redis.call('GET', KEYS[2])
local version = epoch and tonumber(string.match(epoch, '^%d+'))
if version and version > tonumber(ARGV[3]) then return 'newer' end
if version and version < tonumber(ARGV[3]) then return 'older' end
if not epoch and ARGV[4] ~= '1' then return 'empty' end
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 'busy' end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 'taken'
