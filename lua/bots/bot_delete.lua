-- bot_delete: removes a bot. Its keys are worthless from then on, even if the name is registered again.
-- KEYS: bot:<name>, room_names, room_looks, bots:<namespace>, bots_of:<user>, bots_n.
-- Wakes: nobody.
-- Bound: one bot.
-- Lane: first.  Home: cluster.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: missing.
-- Arguments:
--   bot          name
--   account      name
--   user         name
--   is_operator  flag  may change each bot
-- Replies: ok | replay | missing | forbidden
local registry = require('bots/registry')

local function verb(turn, a)
    --- arguments
    local b = registry.read(turn, bot)
    if not b then return 'missing' end
    if not registry.may_change(b, account, user, is_operator) then return 'forbidden' end
    registry.remove(turn, b)
    return 'ok'
end

return {bot_delete = verb}
