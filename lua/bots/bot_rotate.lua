-- bot_rotate: begins the next generation of a bot's key and secret. Those of the former one stay good for an hour.
-- KEYS: bot:<name>.
-- Wakes: nobody.
-- Bound: one bot.
-- Lane: first.  Home: cluster.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: begins one more.
-- Arguments:
--   bot          name
--   account      name
--   user         name
--   is_operator  flag  may change each bot
-- Replies: ok/generation/16 lines (as of bot_find) | replay | missing | forbidden
local registry = require('bots/registry')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local b = registry.read(turn, bot)
    if not b then return 'missing' end
    if not registry.may_change(b, account, user, is_operator) then return 'forbidden' end
    b.generation, b.rotated = format('%d', b.generation + 1), turn.now_text
    call('HSET', b.key, 'generation', b.generation, 'rotated', b.rotated)
    return 'ok\n' .. b.generation .. '\n' .. registry.lines(turn, b)
end

return {bot_rotate = verb}
