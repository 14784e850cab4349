-- Makes a script fail if Redis is older than wafbot needs. The script's last key is one of keyNone, so this writes
-- nothing. A full or read-only Redis doesn't say.
local found = redis.pcall('XADD', KEYS[#KEYS], 'NOMKSTREAM', 'MINID', '~', '0', '*', 'n', '0')
local says = found and found.err or ''
if string.find(says, 'Invalid stream ID', 1, true) or string.find(says, 'nknown', 1, true) then
  return redis.error_reply('TOOOLD redis is older than 6.2, which wafbot needs')
end
