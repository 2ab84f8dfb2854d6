-- vectors: returns how this Redis can store a new space's vectors.
-- KEYS: none that is there.
-- Wakes: nobody.
-- Bound: nothing is read.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: set (it knows vector sets) | exact (it does not)
local call = redis.call

local function verb(turn, a)
    return pcall(call, 'VCARD', turn.prefix .. 'vectors:') and 'set' or 'exact'
end

return {vectors = verb}
