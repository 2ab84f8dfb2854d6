-- unpark: removes the credit of a parked poll that ended without a claim. If a hand-over has already used the credit,
--   the claim is on its way, and the node gives it to another poll or gives it back.
-- KEYS: idle.
-- Wakes: nobody.
-- Bound: one credit.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: once per parked poll.
-- Arguments:
--   class  text 4k
-- Replies: ok
local idle = require('queue/idle')

local function verb(turn, a)
    --- arguments
    local entry = idle.own_entry(turn, class)
    local credits = idle.credits_of(turn, entry)
    if credits > 0 then idle.set_credits(entry, credits - 1) end
    return 'ok'
end

return {unpark = verb}
