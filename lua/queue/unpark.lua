-- unpark: a parked poll ended without a claim: its credit goes. If a hand-over has used the credit
-- up meanwhile, that claim is on its way and the node gives it to another poll or back.
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
    if entry.credits > 0 then idle.set_credits(entry, entry.credits - 1) end
    return 'ok'
end

return {unpark = verb}
