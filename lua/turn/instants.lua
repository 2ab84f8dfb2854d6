-- instants: corrects instants that were stored before Redis's clock went back. They are in the future by as much as the
-- clock went back. One that has passed counts as now, and a deadline is at most as far away as it was when it was set:
-- one more wait, however far the clock went back.
local call = redis.call
local format = string.format
local abs = math.abs

local PULLED_MAX = 100 -- of a call; the next one continues
local BACK_MS = 1000   -- less is not noticed, and nobody waits longer for it
local LATE_MAX = 5000  -- looked at once the clock has gone back

-- Is that instant within `ms` of now? What was stated before the clock went back further than that is void, as what is
-- that old: those who live state it again.
local function is_near(turn, at, ms)
    return abs(turn.now_ms - at) < ms
end

-- Has a deadline that was set for `ms` at most not passed yet?
local function is_ahead(turn, deadline, ms)
    local left = deadline - turn.now_ms
    return left > 0 and left <= ms
end

-- Deadlines of a zset (ms) that are further away than `ms` end in that time; odd ones stay odd (queue/leases.lua).
local function pull_in(turn, key, ms)
    local latest = turn.now_ms + ms
    local late = call('ZRANGEBYSCORE', key, format('(%d', latest), '+inf', 'WITHSCORES',
                      'LIMIT', 0, PULLED_MAX)
    if #late == 0 then return end
    for i = 1, #late, 2 do
        local at = latest - latest % 2 - late[i + 1] % 2
        late[i], late[i + 1] = format('%d', at), late[i]
    end
    call('ZADD', key, 'XX', unpack(late))
end

-- The same of turns, whose deadlines are those of what they are for: such a turn comes now.
local function bring_here(turn, key, ms)
    local late = call('ZRANGEBYSCORE', key, format('(%d', turn.now_ms + ms), '+inf', 'LIMIT', 0, PULLED_MAX)
    for i = 1, #late do call('ZADD', key, turn.now_text, late[i]) end
end

-- Has the clock gone back since this was asked last under that name? The hash `clock` has when that was. Also returns
-- how long ago (ms); nil: never.
local function has_gone_back(turn, name)
    local key = turn.prefix .. 'clock'
    local last = call('HGET', key, name)
    call('HSET', key, name, turn.now_text)
    return last and last - turn.now_ms > BACK_MS, last and turn.now_ms - last
end

-- Then: the members of a zset of deadlines that are further away than `ms`, `most` of them.
local function late_ones(turn, key, ms, most)
    return call('ZRANGEBYSCORE', key, format('(%d', turn.now_ms + ms), '+inf', 'LIMIT', 0, most)
end

return {
    LATE_MAX = LATE_MAX, is_near = is_near, is_ahead = is_ahead, pull_in = pull_in, bring_here = bring_here,
    has_gone_back = has_gone_back, late_ones = late_ones,
}
