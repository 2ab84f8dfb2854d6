-- delete: removes a user's tie to a topic, and with the last tie all of its data, Open queries and
-- claims. Nodes waiting for one of its queries are notified; an engine's late answer finds nothing.
-- A topic with very many fields takes several calls: first they look for other ties, then each deletes some of the
-- newest rows. Between calls it is an ordinary, shorter topic.
-- KEYS: t:<topic>, topics:<user>, names:<user>, lookups:<topic>, partials:<topic>:<seq>, leases, lease:<id>, failed,
--   left:<digest>, queue/fair.lua.
-- Wakes: waiting nodes.
-- Bound: DROP_ROWS rows, DROP_FIELDS fields looked at; LOOKUPS_PER_TOPIC lookups.
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: the second time it is forbidden.
-- Arguments:
--   user   name
--   topic  name
--   step   text? 48  none at first, then what the former call returned
-- Replies: ok | more/step (call again) | forbidden (no such topic of that user) | replay
local leaving = require('topic/leave')
local call = redis.call

local function verb(turn, a)
    --- arguments
    if call('HEXISTS', turn.prefix .. 't:' .. topic, 'u:' .. user) == 0 then return 'forbidden' end
    local how, next_step = leaving.leave(turn, user, topic, step)
    if how == 'more' then return 'more\n' .. next_step end
    if how == 'shared' then leaving.untie(turn, user, topic) end
    return 'ok'
end

return {delete = verb}
