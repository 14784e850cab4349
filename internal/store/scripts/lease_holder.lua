-- Who holds a lease.
-- KEYS[1] the lease.
-- ARGV: none.
-- Result: the holder's token; empty if the lease is free.
return redis.call('GET', KEYS[1]) or ''
