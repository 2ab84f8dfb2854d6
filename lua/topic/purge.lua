-- purge: retention. Deletes topics whose last query is older than the cut-off, some rows per call.
-- KEYS: users set, topics:<user>, names:<user>, t:<topic>.
-- Wakes: as delete.
-- Bound: PURGE_ROWS rows and topics, ending with the topic that reaches SCAN_BYTES; PURGE_USERS users.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   max_age_s  number
--   cursor     text 48
-- Replies: next cursor ('0': one round is done; "<scan>.<n>": more of the same users, of whose old topics n are still
--   asked in)
local drop = require('topic/drop')
local users = require('topic/users')
local bounds = require('turn/bounds')
local call = redis.call
local format, match, sub = string.format, string.match, string.sub
local max, min = math.max, math.min
local SCAN_BYTES = bounds.SCAN_BYTES

local COMMANDS = 12 -- for a topic
local PURGE_USERS, PURGE_TOPICS, PURGE_ROWS = 10, 100, 5000

-- Drops a topic for all who have a tie to it, or some rows of one with very many. Returns how many rows went,
-- nil when it is not old, and how many bytes were read; a third value: it is still there.
local function purge_topic(turn, topic, cutoff)
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local last = call('HGET', key, 'seq') or '0'
    local row = call('HGET', key, 'q:' .. last)
    if row and tonumber(match(row, '^%d+')) >= cutoff then return nil, #row end
    if tonumber(last) > PURGE_ROWS then
        drop.drop_newest(turn, topic, PURGE_ROWS)
        return PURGE_ROWS, row and #row or 0, true
    end
    for _, field in ipairs(call('HKEYS', key)) do
        if sub(field, 1, 2) == 'u:' then
            call('ZREM', P .. 'topics:' .. sub(field, 3), topic)
            call('HDEL', P .. 'names:' .. sub(field, 3), topic)
        end
    end
    drop.drop_topic(turn, topic)
    return tonumber(last), row and #row or 0
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local cutoff, rows_left, bytes_left = turn.now_ms - max_age_s * 1000, PURGE_ROWS, SCAN_BYTES
    local scanned, skip = match(cursor, '^(%d+)%.?(%d*)$')
    skip = tonumber(skip) or 0
    local scan, kept_n = call('SSCAN', P .. 'users', scanned, 'COUNT', PURGE_USERS), 0
    for _, user in ipairs(scan[2]) do
        local mine = P .. 'topics:' .. user
        local old_n = skip > kept_n and call('ZCOUNT', mine, '-inf', cutoff) or 0
        local kept = min(old_n, max(0, skip - kept_n)) -- looked at by the former call
        kept_n = kept_n + kept
        repeat -- topics that are old but still asked in are passed over
            local topics = call('ZRANGEBYSCORE', mine, '-inf', cutoff, 'LIMIT', kept, PURGE_TOPICS)
            for _, topic in ipairs(topics) do
                local rows, bytes, is_there = purge_topic(turn, topic, cutoff)
                rows_left, bytes_left = rows_left - (rows or 0) - 1, bytes_left - bytes
                bounds.note_read(turn, (rows or 0) + COMMANDS, bytes)
                if rows and not is_there then
                    call('ZREM', mine, topic)
                elseif not rows then
                    kept, kept_n = kept + 1, kept_n + 1
                end
                if rows_left <= 0 or bytes_left <= 0 then return scanned .. '.' .. format('%d', kept_n) end
            end
        until #topics < PURGE_TOPICS
        if call('EXISTS', mine) == 0 then users.forget(turn, user) end
    end
    return scan[1]
end

return {purge = verb}
