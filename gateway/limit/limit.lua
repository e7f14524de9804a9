-- All that is done to the limits of a request, in one step. shared.go says what the keys and arguments are, and memory.go does the
-- same in Go. All numbers are whole and below 2^53; they are written with all their digits.
local op, id = ARGV[1], ARGV[2]
local from, to = tonumber(ARGV[3]), tonumber(ARGV[4])
local life, grave, marked, force = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[8] == '1'
local seen = tonumber(ARGV[9])
local now = tonumber(ARGV[10])
if not now then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end
local limits = (#ARGV - 10) / 8

local function text(n) return string.format('%.0f', n) end
local function add(a, b) return math.min(math.max(a + b, 0), 9007199254740991) end

-- The place of a window is known to whoever asks, by another clock than this one.
if op == 'acquire' and (now < from or now >= to) then return {'window', text(now)} end
if op == 'settle' or op == 'release' then
  if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', marked) then return {'over', text(now)} end
elseif redis.call('EXISTS', KEYS[1]) == 1 then
  return {'over', text(now)}
end

local function split(s) return string.match(s, '^(%a):(%d+):(%d+)$') end

-- Holds that are over become what was used, and are known a while longer.
local function reap(h, z)
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', z, '(' .. text(now + life + grave), '+inf', 'LIMIT', 0, 1000)) do
    redis.call('ZADD', z, text(now + life), one) -- the clock was put back
  end
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', z, '-inf', text(now), 'LIMIT', 0, 1000)) do
    local state, amount, used = split(redis.call('HGET', h, 'i' .. one) or '')
    if state == 'l' then
      redis.call('HINCRBY', h, 'h', text(0 - tonumber(amount)))
      redis.call('HINCRBY', h, 's', used)
      redis.call('HSET', h, 'i' .. one, 'x:0:' .. used)
      redis.call('ZADD', z, text(now + grave), one)
    else
      redis.call('HDEL', h, 'i' .. one)
      redis.call('ZREM', z, one)
    end
  end
end

-- What each limit has now: of a rate the level, of requests at a time their number, of a budget what is spent and held.
local has, key = {}, 2
for i = 1, limits do
  local a = 10 + (i - 1) * 8
  local l = {kind = ARGV[a + 1], key = KEYS[key]}
  for j = 1, 7 do l[j] = tonumber(ARGV[a + 1 + j]) end
  key = key + 1
  if l.kind == 'r' then -- cost, drain, full, tick, add, ttl
    l.level = 0
    local level, last, cost = string.match(redis.call('GET', l.key) or '', '^(%d+):(%d+):(%d+)$')
    if level then
      l.level = tonumber(level)
      last, cost = tonumber(last), tonumber(cost)
      if cost ~= l[1] then l.level = math.min(math.ceil(l.level / cost * l[1]), 4503599627370496) end
      local ticks = math.floor(now / l[4]) - math.floor(last / l[4])
      if l[2] > 0 and ticks > 0 then
        if ticks > math.floor(l.level / l[2]) then l.level = 0 else l.level = l.level - ticks * l[2] end
      end
      if last > now then -- the clock was put back: it goes on from here
        redis.call('SET', l.key, text(l.level) .. ':' .. text(now) .. ':' .. text(l[1]), 'PX', text(l[6]))
      end
    end
  elseif l.kind == 'c' then -- max, add
    for _, one in ipairs(redis.call('ZRANGEBYSCORE', l.key, '(' .. text(now + life + grave), '+inf', 'LIMIT', 0, 1000)) do
      redis.call('ZADD', l.key, text(now + life), one)
    end
    redis.call('ZREMRANGEBYSCORE', l.key, '-inf', text(now))
    l.level = redis.call('ZCARD', l.key)
  else -- max, amount, used, last, end of the window in ms
    l.zset = KEYS[key]
    key = key + 1
    reap(l.key, l.zset)
    local n = redis.call('HMGET', l.key, 's', 'h', 'i' .. id, 'b')
    l.spent, l.held = tonumber(n[1] or '0'), tonumber(n[2] or '0')
    l.state, l.amount, l.was = split(n[3] or '')
    l.amount, l.was = tonumber(l.amount or '0'), tonumber(l.was or '0')
    l.born = tonumber(n[4] or text(now))
    l.new = not n[4]
    if op ~= 'acquire' and not l.state and not l.new and l.born <= seen and now - seen > life then
      l.state, l.was = 'x', l[4] -- it has become what was used, and nobody knows it any more
    end
  end
  has[i] = l
end

local function answer(word)
  local out = {word, text(now)}
  for i = 1, limits do
    local l = has[i]
    if l.kind == 'b' then
      out[#out + 1] = text(l.spent)
      out[#out + 1] = text(l.held)
      out[#out + 1] = text(l.amount)
    else
      out[#out + 1] = text(l.level)
    end
  end
  return out
end

-- Whether there is room in all of them.
local room = true
if op == 'acquire' or op == 'extend' then
  for i = 1, limits do
    local l = has[i]
    if l.kind == 'b' then
      local more = l[2]
      if op == 'extend' then more = more - l.amount end
      if l[1] == 0 or more > 0 and l.spent + l.held + more > l[1] then room = false end
    elseif op == 'acquire' and l.kind == 'r' then
      if l.level + l[5] > l[3] then room = false end
    elseif op == 'acquire' and l.level + l[2] > l[1] then
      room = false
    end
  end
  if op == 'acquire' and not room then return answer('no') end
end
local grow = room or force
local before
if op == 'extend' then before = answer(room and 'yes' or 'no') end

for i = 1, limits do
  local l = has[i]
  if l.kind == 'r' then
    if l[5] ~= 0 and (op ~= 'extend' or grow) then
      l.level = add(l.level, l[5])
      redis.call('SET', l.key, text(l.level) .. ':' .. text(now) .. ':' .. text(l[1]), 'PX', text(l[6]))
    end
  elseif l.kind == 'c' then
    if op == 'settle' or op == 'release' then
      redis.call('ZREM', l.key, id)
    else
      redis.call('ZADD', l.key, text(now + life), id)
      redis.call('PEXPIRE', l.key, text(2 * (life + grave) / 1000))
      l.level = redis.call('ZCARD', l.key)
    end
  elseif op == 'settle' or op == 'release' then
    local last = l.was
    if l.state == 'l' then
      redis.call('HINCRBY', l.key, 'h', text(0 - l.amount))
      last = 0
    end
    redis.call('HSET', l.key, 's', text(add(l.spent, l[2] - last)), 'b', text(l.born))
    redis.call('HDEL', l.key, 'i' .. id)
    redis.call('ZREM', l.zset, id)
  else
    local amount = l[2]
    if not grow then amount = math.max(l.amount, l[3]) end
    if l.state == 'x' then
      l.spent = add(l.spent, -l.was)
      redis.call('HSET', l.key, 's', text(l.spent))
    end
    l.held = l.held + amount - l.amount
    l.amount = amount
    redis.call('HSET', l.key, 'h', text(l.held), 'b', text(l.born), 'i' .. id, 'l:' .. text(amount) .. ':' .. text(l[3]))
    redis.call('ZADD', l.zset, text(now + life), id)
  end
  if l.kind == 'b' and l[5] > 0 and (l.new or op == 'acquire') then
    redis.call('PEXPIREAT', l.key, text(l[5]))
    redis.call('PEXPIREAT', l.zset, text(l[5]))
  end
end
return before or answer('yes')
