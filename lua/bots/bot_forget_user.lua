-- bot_forget_user: removes the bots that a user registered, a bounded part per call. Called until it answers done.
-- KEYS: bots_of:<user>, bot:<name>, room_names, room_looks, bots:<namespace>, bots_n.
-- Wakes: nobody.
-- Bound: BOTS_MAX bots.
-- Lane: slow.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user  name
-- Replies: more/bots that are gone | done/bots that are gone
local registry = require('bots/registry')
local call = redis.call
local format = string.format

local BOTS_MAX = 200

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 'bots_of:' .. user
    local names = call('ZRANGE', key, 0, BOTS_MAX - 1)
    for i = 1, #names do
        local b = registry.read(turn, names[i])
        if b then registry.remove(turn, b) else call('ZREM', key, names[i]) end
    end
    return (call('EXISTS', key) == 1 and 'more\n' or 'done\n') .. format('%d', #names)
end

return {bot_forget_user = verb}
