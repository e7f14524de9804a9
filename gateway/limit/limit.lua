-- All that is done to the limits of a request, in one step. shared.go says what the keys and arguments are, and memory.go does the
-- same in Go. All numbers are whole and below 2^53. Commands get them as texts with all their digits: of a number the server would
-- make one with %.17g, which takes as long as the command.
local args = cmsgpack.unpack(ARGV[1])
local op, id, from, to, life, grave, marked, force, seen, now = unpack(args, 1, 10)
local call, format, match, floor = redis.call, string.format, string.match, math.floor
if now == 0 then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end

local function text(n) return format('%.0f', n) end
local now_text, expires = text(now), text(now + life)

local function add(a, b) return math.min(math.max(a + b, 0), 9007199254740991) end

-- The place of a window is known to whoever asks, by another clock than this one.
if op == 'acquire' and (now < from or now >= to) then return {'window', now} end

-- The limits, with their keys, and the keys that are texts, which are read in one step.
local has, texts, key = {}, {KEYS[1]}, 2
for i = 11, #args, 8 do
  local l = {kind = args[i], key = KEYS[key], unpack(args, i + 1, i + 7)}
  key = key + 1
  if l.kind == 'b' then
    l.zset = KEYS[key]
    key = key + 1
  elseif l.kind == 'r' then
    texts[#texts + 1] = l.key
    l.text = #texts
  end
  has[#has + 1] = l
end
texts = call('MGET', unpack(texts))
if texts[1] then return {'over', now} end

-- The level that a rate has now: cost, drain, full, tick, add, ttl.
local function level(l)
  l.level = 0
  local level, last, cost = match(texts[l.text] or '', '^(%d+):(%d+):(%d+)$')
  if not level then return end
  l.level, last, cost = tonumber(level), tonumber(last), tonumber(cost)
  if cost ~= l[1] then l.level = math.min(math.ceil(l.level / cost * l[1]), 4503599627370496) end
  local ticks = floor(now / l[4]) - floor(last / l[4])
  if l[2] > 0 and ticks > 0 then
    if ticks > floor(l.level / l[2]) then l.level = 0 else l.level = l.level - ticks * l[2] end
  end
  l.back = last > now -- the clock was put back: it goes on from here
end

local function keep(l) call('SET', l.key, text(l.level) .. ':' .. now_text .. ':' .. text(l[1]), 'PX', text(l[6])) end

-- What is spent and held of a budget, and by this request: max, amount, used, last, end of the window in ms.
local function hold(l)
  local n = call('HMGET', l.key, 's', 'h', 'i' .. id, 'b')
  l.spent, l.held = tonumber(n[1] or '0'), tonumber(n[2] or '0')
  l.state, l.amount, l.was = match(n[3] or '', '^(%a):(%d+):(%d+)$')
  l.amount, l.was = tonumber(l.amount or '0'), tonumber(l.was or '0')
  l.birth, l.new = n[4] or now_text, not n[4]
  l.born = tonumber(l.birth)
  if op ~= 'acquire' and not l.state and not l.new and l.born <= seen and now - seen > life then
    l.state, l.was = 'x', l[4] -- it has become what was used, and nobody knows it any more
  end
end

-- Nobody asks what there is then, and what has expired is for others to find.
if op == 'settle' or op == 'release' then
  call('SET', KEYS[1], '1', 'PX', text(marked))
  for _, l in ipairs(has) do
    if l.kind == 'r' then
      if l[5] ~= 0 then
        level(l)
        l.level = add(l.level, l[5])
        keep(l)
      end
    elseif l.kind == 'c' then
      call('ZREM', l.key, id)
    else
      hold(l)
      local last = l.was
      if l.state == 'l' then
        l.held, last = l.held - l.amount, 0
      end
      call('HSET', l.key, 's', text(add(l.spent, l[2] - last)), 'h', text(l.held), 'b', l.birth)
      if l.state then
        call('HDEL', l.key, 'i' .. id)
        call('ZREM', l.zset, id)
      end
      if l.new and l[5] > 0 then call('PEXPIREAT', l.key, text(l[5])) end
    end
  end
  return {'done', now}
end

-- The clock was put back: leases live no longer than ones that begin now.
local longest = '(' .. text(now + life + grave)
local function forward(z)
  for _, one in ipairs(call('ZRANGEBYSCORE', z, longest, '+inf', 'LIMIT', '0', '1000')) do
    call('ZADD', z, expires, one)
  end
end

-- Holds that are over become what was used, and are known a while longer.
local function reap(h, z)
  for _, one in ipairs(call('ZRANGEBYSCORE', z, '-inf', now_text, 'LIMIT', '0', '1000')) do
    local state, amount, used = match(call('HGET', h, 'i' .. one) or '', '^(%a):(%d+):(%d+)$')
    if state == 'l' then
      call('HINCRBY', h, 'h', 0 - tonumber(amount)) -- "-0" is no number
      call('HINCRBY', h, 's', used)
      call('HSET', h, 'i' .. one, 'x:0:' .. used)
      call('ZADD', z, text(now + grave), one)
    else
      call('HDEL', h, 'i' .. one)
      call('ZREM', z, one)
    end
  end
end

-- What each limit has now: of a rate the level, of requests at a time their number, of a budget what is spent and held; and whether
-- there is room in all of them.
local room = true
for _, l in ipairs(has) do
  if l.kind == 'r' then
    level(l)
    if l.back then keep(l) end
    if op == 'acquire' and l.level + l[5] > l[3] then room = false end
  elseif l.kind == 'c' then -- max, add
    forward(l.key)
    call('ZREMRANGEBYSCORE', l.key, '-inf', now_text)
    l.level = call('ZCARD', l.key)
    if op == 'acquire' and l.level + l[2] > l[1] then room = false end
  else
    forward(l.zset)
    reap(l.key, l.zset)
    hold(l)
    local more = l[2]
    if op == 'extend' then more = more - l.amount end
    if l[1] == 0 or more > 0 and l.spent + l.held + more > l[1] then room = false end
  end
end

local function answer(word)
  local out = {word, now}
  for _, l in ipairs(has) do
    if l.kind == 'b' then
      out[#out + 1] = l.spent
      out[#out + 1] = l.held
      out[#out + 1] = l.amount
    else
      out[#out + 1] = l.level
    end
  end
  return out
end

if op == 'acquire' and not room then return answer('no') end
local grow = room or force == 1
local before
local lasting = text(floor(2 * (life + grave) / 1000))
if op == 'extend' then before = answer(room and 'yes' or 'no') end

for _, l in ipairs(has) do
  if l.kind == 'r' then
    if l[5] ~= 0 and grow then
      l.level = add(l.level, l[5])
      keep(l)
    end
  elseif l.kind == 'c' then
    l.level = l.level + call('ZADD', l.key, expires, id)
    call('PEXPIRE', l.key, lasting)
  else
    local amount, unheld = l[2], l.held == 0
    if not grow then amount = math.max(l.amount, l[3]) end
    if l.state == 'x' then l.spent = add(l.spent, -l.was) end
    l.held = l.held + amount - l.amount
    l.amount = amount
    call('HSET', l.key, 's', text(l.spent), 'h', text(l.held), 'b', l.birth, 'i' .. id, format('l:%.0f:%.0f', amount, l[3]))
    call('ZADD', l.zset, expires, id)
    if l[5] > 0 then
      if l.new then call('PEXPIREAT', l.key, text(l[5])) end
      if l.new or unheld then call('PEXPIREAT', l.zset, text(l[5])) end
    end
  end
end
return before or answer('yes')
