-- wrong(key): how what a key holds differs from what scripts rely on; false if it doesn't. Each script runs it for each
-- of its keys, so most end at their type.
local kinds = ' stream=stream beats=zset links=zset off=zset accounts=set attacks=hash gaps=zset outbox=hash cards=hash' ..
  ' redraw=hash triage=hash pages=hash changes=hash efficacy=hash due=zset approvals=hash' ..
  ' approvals:due=zset audit=stream pace=hash next=zset damaged=hash '
local forms = {version = '^%d+$', audited = '^%d+$', epoch = '^%d+ %w+$'}
local function wrong(key)
  local is = redis.call('TYPE', key).ok
  if is == 'none' then return false end
  local name = string.match(key, '}:(.*)$') or ''
  if name == 'none' then return false end
  local _, at = string.find(kinds, ' ' .. name .. '=', 1, true)
  local want = at and string.match(kinds, '^%l+', at + 1) or string.find(name, '^lane:') and 'list' or 'string'
  if is ~= want then return is end
  if is ~= 'string' then return false end
  if forms[name] then
    local text = redis.call('GET', key)
    return (not string.find(text, forms[name]) or name == 'audited' and #text > 15) and 'unreadable value'
  end
  local lease = name == 'lease' or name == 'restart' or string.find(name, '^claim:')
  return lease and redis.call('PTTL', key) == -1 and 'lease without an end'
end
