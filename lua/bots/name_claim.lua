-- name_claim: a name is a user's from now on, unless a bot has it.
-- KEYS: room_names, names_n.
-- Wakes: nobody.
-- Bound: one name.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   name       name
--   namespace  name
-- Replies: ok | taken | full
local names = require('bots/names')

local function verb(turn, a)
    --- arguments
    return names.claim(turn, name, namespace) or 'ok'
end

return {name_claim = verb}
