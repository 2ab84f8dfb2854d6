-- bot_find: returns one bot: how it is called, with which generation of its keys, and whether it rests. With is_calling
-- it also decides whether the caller may call it now.
-- Stops this race: several deliveries try a bot that has rested (one at a time does).
-- KEYS: bot:<name>.
-- Wakes: nobody.
-- Bound: one bot: 6 KiB.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes; with is_calling a trial counts until it ends or 15 s have passed.
-- Arguments:
--   bot         name
--   is_calling  flag
-- Replies: missing | ok/may (`go`; `rest`: it fails at once; `wait`: another delivery tries it)/16 lines (name/id/
--   username (JSON)/emulates (JSON or '')/endpoint ('': it pulls)/format/account/user/role/generation/1 if the key of
--   the former generation is still good/rotated (ms)/created (ms)/failed deliveries in a row/circuit (closed, open,
--   half)/ms until it is half open)
local registry = require('bots/registry')

local function verb(turn, a)
    --- arguments
    local b = registry.read(turn, bot)
    if not b then return 'missing' end
    local may, circuit = 'go', registry.circuit(turn, b)
    if circuit == 'open' then may = 'rest' end
    if circuit == 'half' and is_calling and not registry.try(turn, b) then may = 'wait' end
    return 'ok\n' .. may .. '\n' .. registry.lines(turn, b)
end

return {bot_find = verb}
