-- release_names: with several shards, a shard has no message left of users, whose names are free if no other shard has
--   one. A node reads them from that shard's outbox.
-- Stops this race: the shard has claimed a name again meanwhile, with a larger number.
-- KEYS: name_uses:<name>, room_names, room_looks, names_n.
-- Wakes: nobody.
-- Bound: the names given.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each left 100:
--     text  text 1k  "@<number> <name>"
-- Replies: ok
local names = require('bots/names')
local bounds = require('turn/bounds')
local match = string.match

local COMMANDS = 10

local function verb(turn, a)
    --- arguments
    for i = left_from, left_to do
        local number, name = match(args[i], '^@(%d+) (%S+)$')
        bounds.note_read(turn, COMMANDS, 0)
        if number then names.release(turn, name, tonumber(number)) end
    end
    return 'ok'
end

return {release_names = verb}
