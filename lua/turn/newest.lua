-- newest: walks the members of several zsets (member -> ms) as one list, the newest first. The order, by ms and then
-- by member, is the same on all shards, so one cursor, "<ms>.<member>", serves all of them.
local bounds = require('turn/bounds')
local call = redis.call
local format, match = string.format, string.match

local AT_ONCE = 50

local function fill(source)
    source.page = call('ZREVRANGE', source.key, source.rank, source.rank + AT_ONCE - 1, 'WITHSCORES')
    source.rank, source.at = source.rank + AT_ONCE, 1
end

-- The list of a zset, from the first member of that millisecond on.
local function begin(key, ms)
    local source = {key = key, rank = ms and call('ZCOUNT', key, '(' .. ms, '+inf') or 0}
    fill(source)
    return source
end

local function is_newer(ms, member, other_ms, other)
    return ms > other_ms or (ms == other_ms and member > other)
end

-- Puts the newest member that is older than (ms, member) into source.ms and source.member; ms is nil at the end.
local function move(source, ms, member)
    repeat
        if source.at > #source.page and #source.page == 2 * AT_ONCE then fill(source) end
        if source.at > #source.page then
            source.ms = nil
            return
        end
        source.member, source.ms = source.page[source.at], tonumber(source.page[source.at + 1])
        source.at = source.at + 2
    until not ms or is_newer(ms, member, source.ms, source.member)
end

-- Calls visit(member, its cursor) for each member that is older than the cursor ('': from the newest on), until it
-- returns false, but `most` times at most. Returns the cursor of the last one for which it returned true, or '' at
-- the end.
local function walk(turn, keys, cursor, most, visit)
    local ms, member = match(cursor, '^(%d+)%.(.+)$')
    local sources = {}
    for i = 1, #keys do
        sources[i] = begin(turn.prefix .. keys[i], ms)
        move(sources[i], tonumber(ms), member)
    end
    for n = 0, most do
        local best
        for i = 1, #sources do
            local one = sources[i]
            if one.ms and (not best or is_newer(one.ms, one.member, best.ms, best.member)) then best = one end
        end
        if not best then return '' end
        local place = format('%d', best.ms) .. '.' .. best.member
        bounds.note_read(turn, 1, 0)
        if n == most or not visit(best.member, place) then return cursor end
        ms, member, cursor = best.ms, best.member, place
        -- A member of several zsets comes once.
        for i = 1, #sources do
            if sources[i].ms and not is_newer(ms, member, sources[i].ms, sources[i].member) then
                move(sources[i], ms, member)
            end
        end
    end
end

return {walk = walk}
