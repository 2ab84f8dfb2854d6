-- needs: with several shards, which topics need a lookup. Lookups are on shard 0; the set `needs:<fingerprint>` lists
--   the topics that need each one, as "<topic>:<number>". A topic's own requests are on its shard, in lookups:<topic>.
--   Its number is the field `lookups` of t:<topic>: a later topic with the same name has another number. So a need
--   begins once and ends once, and repeating, delaying or reordering these messages changes nothing. A need is recorded
--   in the topic before it begins on shard 0. When the topic is deleted, "<fingerprint> <need>" is put into the
--   `outbox` of its shard, and any node carries it to shard 0 (outbox, release_lookups).
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local events = require('turn/events')
local call = redis.call
local match = string.match

-- The number of a topic, given when it first needs something.
local function number_of(turn, topic)
    local key = turn.prefix .. 't:' .. topic
    local number = call('HGET', key, 'lookups')
    if number then return number end
    number = counters.next_lease(turn)
    call('HSET', key, 'lookups', number)
    return number
end

-- A topic goes, and is still there: its needs go into the outbox, at once.
local function release_all(turn, topic)
    local P = turn.prefix
    local number = call('HGET', P .. 't:' .. topic, 'lookups')
    local items, fields = {}, number and call('HKEYS', P .. 'lookups:' .. topic) or {}
    for i = 1, #fields do
        items[2 * i - 1] = '0'
        items[2 * i] = match(fields[i], '^%d+ (%x+)$') .. ' ' .. topic .. ':' .. number
    end
    if #items == 0 then return end
    bounds.in_parts(items, function(...) call('ZADD', P .. 'outbox', ...) end)
    events.send(turn, turn.node, 'outbox')
end

-- Releases those fingerprints of a topic that stays, unless they are in `kept`. It may need them again:
-- such an item ends with ' part', and leaves nothing that refuses a later need.
local function release_some(turn, topic, fingerprints, kept)
    local P = turn.prefix
    local number, items = call('HGET', P .. 't:' .. topic, 'lookups'), {}
    for i = 1, number and #fingerprints or 0 do
        if not kept[fingerprints[i]] then
            items[#items + 1] = '0'
            items[#items + 1] = fingerprints[i] .. ' ' .. topic .. ':' .. number .. ' part'
        end
    end
    if #items == 0 then return end
    bounds.in_parts(items, function(...) call('ZADD', P .. 'outbox', ...) end)
    events.send(turn, turn.node, 'outbox')
end

-- Returns the key of a topic that is gone, on shard 0. By a digest: no name of it stays.
local function released_key(turn, need)
    return turn.prefix .. 'released:' .. redis.sha1hex(need)
end

return {
    released_key = released_key, number_of = number_of, release_all = release_all, release_some = release_some,
}
