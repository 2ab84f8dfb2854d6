-- order: scores of lists in the order of creation. Redis orders members of one score by their names, so each new member
-- gets a score of its own, above all that are there: also in the same turn, and after a clock was set back. Scores are
-- ms: whole ones where something else says when its member was created, otherwise with the microseconds behind the
-- point, so that lists of several shards are in order, too. Cursors of these have scores in whole microseconds.
local call = redis.call
local floor, format, max = math.floor, string.format, math.max

local SAME_MS_MAX = 1000 -- of members that a backup has at the same time, those that are looked at

local function us_of(score)
    return floor(score * 1000 + 0.5)
end

local function score_of(us)
    return format('%.3f', us / 1000)
end

local function last_of(key)
    return call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
end

-- The score of a new member of that list.
local function next(turn, key)
    local last = last_of(key)
    return score_of(last and max(turn.now_us, us_of(last) + 1) or turn.now_us)
end

-- The same in whole ms, `least` at least.
local function next_ms(turn, key, least)
    return format('%d', max(turn.now_ms, least or 0, floor(last_of(key) or 0) + 1))
end

-- A score as cursors have it.
local function text_of(score)
    return format('%.0f', us_of(score))
end

-- The rank of the first member after this one, which has or had that score (in microseconds) and may be gone, or be on
-- another shard; and whether it is there.
local function rank_after(key, us, member)
    local score, is_there = score_of(us), false
    local rank = call('ZCOUNT', key, '-inf', '(' .. score)
    for _, other in ipairs(call('ZRANGE', key, score, score, 'BYSCORE', 'LIMIT', 0, SAME_MS_MAX)) do
        if other > member then break end
        rank, is_there = rank + 1, other == member
    end
    return rank, is_there
end

return {us_of = us_of, score_of = score_of, next = next, next_ms = next_ms, text_of = text_of, rank_after = rank_after}
