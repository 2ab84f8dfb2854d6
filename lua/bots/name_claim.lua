-- name_claim: a name is a user's from now on, unless a bot has it.
-- KEYS: room_names, room_looks, names_n, name_uses:<name>.
-- Wakes: nobody.
-- Bound: one name.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   name       name
--   skeleton   name  what it looks like, in the namespace
--   namespace  name
--   account    name  for which it is claimed
--   number     number?  of the claim, as message_add gave it; with one shard none
-- Replies: ok | taken | full/`account` (it has half of the 100,000 names) or `namespace`
local names = require('bots/names')

local function verb(turn, a)
    --- arguments
    return names.claim(turn, name, skeleton, namespace, account, number) or 'ok'
end

return {name_claim = verb}
