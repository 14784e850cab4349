-- Takes a token from a bucket.
-- KEYS[1] the bucket.
-- ARGV[1] tokens a second, ARGV[2] the most it holds, ARGV[3] how many must be left.
-- Result: 0 if one was taken, else the ms until there is one.
local rate, burst, least = tonumber(ARGV[1]), tonumber(ARGV[2]), 1 + ARGV[3]
local tokens, now = open(KEYS[1], rate, burst)
local wait = 0
if tokens >= least then tokens = tokens - 1 else wait = math.ceil((least - tokens) * 1000 / rate) end
keep(KEYS[1], rate, burst, tokens, now)
return wait
