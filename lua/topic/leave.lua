-- leave: removes a user's tie to a topic and, with the last tie, the topic itself, some rows per call.
local resent = require('queue/resent')
local drop = require('topic/drop')
local bounds = require('turn/bounds')
local call = redis.call
local format, match, sub = string.format, string.match, string.sub
local max = math.max
local DROP_FIELDS, DROP_ROWS = drop.DROP_FIELDS, drop.DROP_ROWS
local FIELDS_AS_COMMAND = 10 -- that cost as much as one command

local function untie(turn, user, topic)
    local P = turn.prefix
    local key, tie = P .. 't:' .. topic, 'u:' .. user
    local marks = turn.is_sharded and call('HGET', key, tie)
    if marks then resent.keep_marks(turn, topic, user, marks) end -- else the topic is gone already
    call('HDEL', key, tie)
    call('ZREM', P .. 'topics:' .. user, topic)
    call('HDEL', P .. 'names:' .. user, topic)
end

-- Is one of these fields the tie of another user?
local function has_other(fields, user, stride)
    for i = 1, #fields, stride do
        if sub(fields[i], 1, 2) == 'u:' and fields[i] ~= 'u:' .. user then return true end
    end
    return false
end

-- One step of the end of a topic with too many fields for one call: first the other ties are looked for, page by page
-- ("s<cursor>.<last Seq>"), then the newest rows go ("r<last Seq>"). Somebody who asks in it meanwhile gets a tie, and
-- the topic another last Seq than the step says: then they are looked for again. Returns the next step, or nil when
-- another user has a tie, and how many rows went.
local function step_of_large(turn, key, user, topic, step)
    local seq = call('HGET', key, 'seq')
    local cursor, as_of = match(step, '^s(%d+)%.(%d+)$')
    if match(step, '^r(%d+)$') == seq then
        drop.drop_newest(turn, topic, DROP_ROWS)
        local rest = max(0, tonumber(seq) - DROP_ROWS)
        return 'r' .. format('%d', rest), tonumber(seq) - rest
    end
    local scan = call('HSCAN', key, cursor or '0', 'MATCH', 'u:*', 'COUNT', DROP_FIELDS)
    bounds.note_read(turn, DROP_FIELDS / FIELDS_AS_COMMAND, 0)
    if has_other(scan[2], user, 2) then return nil end
    as_of = as_of or seq
    return scan[1] == '0' and 'r' .. as_of or 's' .. scan[1] .. '.' .. as_of, 0
end

-- Ends the topic if nobody but `user` has a tie to it. `step`: '' at first. Returns 'more' and the next step (call
-- again), 'gone', or 'shared' (others have ties; nothing is changed), and how many rows went.
local function leave(turn, user, topic, step)
    local key = turn.prefix .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq')) or 0
    if last > 0 and call('HLEN', key) > DROP_FIELDS then
        local next_step, rows = step_of_large(turn, key, user, topic, step)
        if not next_step then return 'shared', nil, 0 end
        return 'more', next_step, rows
    end
    local fields = call('HKEYS', key)
    bounds.note_read(turn, #fields / FIELDS_AS_COMMAND, 0)
    if has_other(fields, user, 1) then return 'shared', nil, 0 end
    untie(turn, user, topic)
    drop.drop_topic(turn, topic)
    return 'gone', nil, last
end

return {leave = leave, untie = untie}
