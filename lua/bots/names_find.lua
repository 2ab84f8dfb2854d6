-- names_find: returns the owner of each of some names.
-- KEYS: room_names, room_looks.
-- Wakes: nobody.
-- Bound: 80 names.
-- Lane: read.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each wanted 80:
--     wanted_name  name
--     wanted_skeleton  name?  what it looks like, in the namespace; without it bots are not found by their skeleton
-- Replies: ok, then per name a line: u, b, p or n (nobody's); of a bot that it only looks like, its name after that
local names = require('bots/names')
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local text = {'ok'}
    for i = wanted_from, wanted_to, 2 do
        local kind, name = names.mentioned(turn, args[i], args[i + 1])
        text[#text + 1] = name == args[i] and kind or kind .. ' ' .. name
    end
    return concat(text, '\n')
end

return {names_find = verb}
