-- names_find: whose some names are.
-- KEYS: room_names.
-- Wakes: nobody.
-- Bound: 80 names.
-- Lane: read.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each wanted 80:
--     wanted_name  name
-- Replies: ok, then per name a line: u, b, p or n (nobody's)
local names = require('bots/names')
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local text = {'ok'}
    for i = wanted_from, wanted_to do text[#text + 1] = names.kind_of(turn, args[i]) end
    return concat(text, '\n')
end

return {names_find = verb}
