-- Makes a script fail before it has written, if a key holds another kind of value than it should: none fails later.
for _, key in ipairs(KEYS) do
  local is = wrong(key)
  if is then return redis.error_reply('WRONGTYPE ' .. key .. ' holds a ' .. is) end
end
