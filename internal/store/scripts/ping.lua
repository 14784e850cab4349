-- Writes: a read-only, full or old Redis refuses that.
-- KEYS[1] what is written, KEYS[2] one of keyNone.
-- ARGV: none.
-- Result: OK.
return redis.call('SET', KEYS[1], '1', 'PX', 60000)
