-- delete: removes a user's tie to a topic, and with the last tie all of its data, Open queries and
-- claims. Nodes waiting for one of its queries are notified; an engine's late answer finds nothing.
-- A topic with very many fields takes several calls: first they look for other ties, then each deletes some of the
-- newest rows. Between calls it is an ordinary, shorter topic.
-- KEYS: t:<topic>, topics:<user>, names:<user>, lookups:<topic>, partials:<topic>:<seq>, leases, lease:<id>, failed,
--   left:<user>:<topic>, queue/fair.lua.
-- Wakes: waiting nodes.
-- Bound: DROP_ROWS rows, DROP_FIELDS fields looked at; LOOKUPS_PER_TOPIC lookups.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: the second time it is forbidden.
-- Arguments:
--   user   name
--   topic  name
--   step   text? 48  none at first, then what the former call returned
-- Replies: ok | more/step (call again) | forbidden (no such topic of that user) | replay
local resent = require('queue/resent')
local drop = require('topic/drop')
local call = redis.call
local sub = string.sub
local DROP_FIELDS, DROP_ROWS = drop.DROP_FIELDS, drop.DROP_ROWS

-- One step of the end of a topic with too many fields for one call. Returns the next step, or nil when it
-- has another user's tie.
local function drop_step(turn, key, user, topic, step)
    if step == 'rows' then
        drop.drop_newest(turn, topic, DROP_ROWS)
        return 'rows'
    end
    local scan = call('HSCAN', key, step == '' and '0' or step, 'MATCH', 'u:*', 'COUNT', DROP_FIELDS)
    for i = 1, #scan[2], 2 do
        if scan[2][i] ~= 'u:' .. user then return nil end
    end
    return scan[1] == '0' and 'rows' or scan[1]
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local is_large = call('HLEN', key) > DROP_FIELDS
    if call('HEXISTS', key, 'u:' .. user) == 0 then return 'forbidden' end
    local next_step = is_large and tonumber(call('HGET', key, 'seq')) > 0 and drop_step(turn, key, user, topic, step)
    if next_step then return 'more\n' .. next_step end
    if turn.is_sharded then resent.keep_marks(turn, topic, user, call('HGET', key, 'u:' .. user)) end
    call('HDEL', key, 'u:' .. user)
    call('ZREM', P .. 'topics:' .. user, topic)
    call('HDEL', P .. 'names:' .. user, topic)
    if is_large and next_step == nil then return 'ok' end
    for _, field in ipairs(call('HKEYS', key)) do
        if sub(field, 1, 2) == 'u:' then return 'ok' end
    end
    drop.drop_topic(turn, topic)
    return 'ok'
end

return {delete = verb}
