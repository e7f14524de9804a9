-- All that is done to the limits of a request, in one step. shared.go says what the keys and arguments are, and memory.go does the
-- same in Go. All numbers are whole and below 2^53. Commands get them as texts with all their digits: of a number the server would
-- make one with %.17g, which takes as long as the command. What is for commands alone comes as a text. The first key says that the lease
-- is over, or which step its last extension was.
local args = cmsgpack.unpack(ARGV[1])
local op, id, from, to, life, grave, marked, step, force, seen, now = unpack(args, 1, 11)
local call, format, match, floor = redis.call, string.format, string.match, math.floor
if format('%d', 4503599627370496) ~= '4503599627370496' then return redis.error_reply('ERR limits need a Redis that is built for 64 bits') end
if now == 0 then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end

-- The place of a window is known to whoever asks, by another clock than this one.
if op == 'acquire' and (now < from or now >= to) then return {'window', now} end

-- The limits: their values, and what they have; kind 'r' is a rate: cost, drain, full, tick, add, ttl, and what is left in it at least;
-- 'c' are requests at a time: max, how many, how many there were; 'b' is a budget: max, amount, used, last, end of the window in ms. Keys
-- that are texts are read in one step.
local has, texts, key = {}, {KEYS[1]}, 2
for i = 12, #args, 8 do
  local l = {args[i + 1], args[i + 2], args[i + 3], args[i + 4], args[i + 5], args[i + 6], args[i + 7],
    kind = args[i], key = KEYS[key], level = 0, held = 0, amount = 0, was = 0, state = false, birth = false, new = false, back = false, text = false, zset = false, due = false}
  key = key + 1
  if l.kind == 'b' then
    l.zset = KEYS[key] -- the leases by their ends
    key = key + 1
  elseif l.kind == 'r' then
    texts[#texts + 1] = l.key
    l.text = #texts
  end
  has[#has + 1] = l
end
texts = call('MGET', unpack(texts))
if texts[1] == 'over' then return {'over', now} end
if op == 'extend' and texts[1] and tonumber(texts[1]) >= tonumber(step) then return {'late', now} end -- nobody waits for it any more

-- The level that a rate has now.
local function level(l)
  local level, last, cost = match(texts[l.text] or '', '^(%d+):(%d+):(%d+)$')
  if not level then return end
  level, last, cost = tonumber(level), tonumber(last), tonumber(cost)
  if cost ~= l[1] then level = math.min(math.ceil(level / cost * l[1]), 4503599627370496) end
  local ticks = floor(now / l[4]) - floor(last / l[4])
  if l[2] > 0 and ticks > 0 then
    if ticks > floor(level / l[2]) then level = 0 else level = level - ticks * l[2] end
  end
  l.level = level
  l.back = last > now -- the clock was put back: it goes on from here
end

-- Adds to a rate.
local function keep(l, n)
  l.level = math.min(math.max(l.level + n, l[7]), 9007199254740991)
  call('SET', l.key, format('%d:%d:%d', l.level, now, l[1]), 'PX', l[6])
end

-- The members of requests at a time from one number to another, with their scores, if there are any to be set.
local function members(first, last, score)
  local out = {}
  for n = first, last do
    if score then out[#out + 1] = score end
    out[#out + 1] = n == 1 and id or id .. ':' .. n
  end
  return unpack(out)
end

-- What is spent (as level) and held of a budget, and by this request. Returns when its leases are to be looked at. The hash has what is
-- spent (s) and held (h), each lease (i and its id), when it began (b), and when to look at the leases (d).
local function hold(l)
  local n = call('HMGET', l.key, 's', 'h', 'i' .. id, 'b', 'd')
  l.level, l.held = tonumber(n[1] or '0'), tonumber(n[2] or '0')
  if n[3] then
    local state, amount, was = match(n[3], '^(%a):(%d+):(%d+)$')
    l.state, l.amount, l.was = state, tonumber(amount), tonumber(was)
  else
    l.state, l.amount, l.was = false, 0, 0
  end
  l.birth, l.new = n[4], not n[4]
  if op ~= 'acquire' and not l.state and n[4] and now - seen > life and tonumber(n[4]) <= seen then
    l.state, l.was = 'x', l[4] -- it has become what was used, and nobody knows it any more
  end
  return tonumber(n[5] or '0')
end

-- Nobody asks what there is then, and what has expired is for others to find.
if op == 'settle' or op == 'release' then
  call('SET', KEYS[1], 'over', 'PX', marked)
  for _, l in ipairs(has) do
    if l.kind == 'r' then
      if l[5] ~= 0 then
        level(l)
        if seen == 0 then l[5] = math.min(l[5], math.max(l[3] - l.level, 0)) end -- it was used at a time that nobody knows: no more than fills the bucket
        keep(l, l[5])
      end
    elseif l.kind == 'c' then
      if l[3] > 0 then call('ZREM', l.key, members(1, l[3])) end
    else
      hold(l)
      local last = l.was
      if l.state == 'l' then
        l.held, last = l.held - l.amount, 0
      end
      local spent = format('%d', math.min(math.max(l.level + l[2] - last, 0), 9007199254740991))
      if l.new then
        call('HSET', l.key, 's', spent, 'h', format('%d', l.held), 'b', format('%d', now))
        if l[5] ~= '0' then call('PEXPIREAT', l.key, l[5]) end
      else
        call('HSET', l.key, 's', spent, 'h', format('%d', l.held))
      end
      if l.state then
        call('HDEL', l.key, 'i' .. id)
        call('ZREM', l.zset, id)
      end
    end
  end
  return {'done', now}
end

local now_text, expires = format('%d', now), format('%d', now + life)
local after = '(' .. now_text

-- The clock was put back: leases live no longer than ones that begin now.
local function forward(z)
  for _, one in ipairs(call('ZRANGEBYSCORE', z, '(' .. format('%d', now + life + grave), '+inf', 'LIMIT', '0', '1000')) do
    call('ZADD', z, expires, one)
  end
end

-- Takes away leases that are over, of requests at a time.
local function clean(z)
  forward(z)
  call('ZREMRANGEBYSCORE', z, '-inf', now_text)
end

-- Holds that are over become what was used, and are known a while longer. Returns when to look again: a lease that begins later
-- ends no sooner.
local function reap(h, z)
  forward(z)
  for _, one in ipairs(call('ZRANGEBYSCORE', z, '-inf', now_text, 'LIMIT', '0', '1000')) do
    local state, amount, used = match(call('HGET', h, 'i' .. one) or '', '^(%a):(%d+):(%d+)$')
    if state == 'l' then
      call('HINCRBY', h, 'h', 0 - tonumber(amount)) -- "-0" is no number
      call('HINCRBY', h, 's', used)
      call('HSET', h, 'i' .. one, 'x:0:' .. used)
      call('ZADD', z, format('%d', now + grave), one)
    else
      call('HDEL', h, 'i' .. one)
      call('ZREM', z, one)
    end
  end
  local first = call('ZRANGE', z, '0', '0', 'WITHSCORES')
  return math.min(now + life, tonumber(first[2] or '9007199254740991'))
end

-- Expired requests at a time are not counted, so they are taken away, and the key's life renewed, in a part of each minute that is
-- longer than the time in which running requests renew their leases; and before one of them refuses.
local tidy = op == 'extend' or now % 60000000 < 15000000

-- What each limit has now: of a rate the level, of requests at a time their number, of a budget what is spent and held; and whether
-- there is room in all of them.
local room = true
for _, l in ipairs(has) do
  if l.kind == 'r' then
    level(l)
    if l.back then keep(l, 0) end
    if op == 'acquire' and l.level + l[5] > l[3] then room = false end
  elseif l.kind == 'c' then
    if tidy then clean(l.key) end
    l.level = call('ZCOUNT', l.key, after, '+inf')
    if op == 'acquire' and l.level + l[2] > l[1] then
      if not tidy then clean(l.key) end
      room = false
    end
  else
    local due = hold(l)
    if due <= now or due > now + life then -- or the clock was put back
      l.due = reap(l.key, l.zset)
      hold(l)
    end
    local more = l[2]
    if op == 'extend' then more = more - l.amount end
    if l[1] == 0 or more > 0 and l.level + l.held + more > l[1] then room = false end
  end
end

local function answer(word)
  local out, n = {word, now}, 2
  for _, l in ipairs(has) do
    n = n + 1
    out[n] = l.level
    if l.kind == 'b' then
      out[n + 1], out[n + 2] = l.held, l.amount
      n = n + 2
    end
  end
  return out
end

if op == 'acquire' and not room then return answer('no') end
local grow = room or force == 1
local before
if op == 'extend' then
  before = answer(room and 'yes' or 'no')
  call('SET', KEYS[1], step, 'PX', marked)
end

for _, l in ipairs(has) do
  if l.kind == 'r' then
    if l[5] ~= 0 and grow then keep(l, l[5]) end
  elseif l.kind == 'c' then
    local renewed = tidy or l.level == 0
    if l[2] > 0 then l.level = l.level + call('ZADD', l.key, members(1, l[2], expires)) end
    if l[3] > l[2] then call('ZREM', l.key, members(l[2] + 1, l[3])) end
    if renewed then call('PEXPIRE', l.key, format('%d', floor(2 * (life + grave) / 1000))) end
  else
    local amount, unheld = l[2], l.held == 0
    if not grow then amount = math.max(l.amount, l[3]) end
    if l.state == 'x' then l.level = math.max(l.level - l.was, 0) end
    l.held = l.held + amount - l.amount
    l.amount = amount
    local spent, held, own = format('%d', l.level), format('%d', l.held), format('l:%d:%d', amount, l[3])
    if l.new or l.due then
      call('HSET', l.key, 's', spent, 'h', held, 'i' .. id, own, 'b', l.birth or now_text, 'd', format('%d', l.due))
    else
      call('HSET', l.key, 's', spent, 'h', held, 'i' .. id, own)
    end
    call('ZADD', l.zset, expires, id)
    if l[5] ~= '0' then
      if l.new then call('PEXPIREAT', l.key, l[5]) end
      if l.new or unheld then call('PEXPIREAT', l.zset, l[5]) end
    end
  end
end
return before or answer('yes')
