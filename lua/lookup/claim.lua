-- claim_lookup: claims the lookup that has been claimable longest for an engine's poll, or parks the poll as a credit.
--   The lookup can be claimed again when its lease has expired; until it is delivered, that lease is short.
-- KEYS: lookups zset, lookup:<fingerprint>, meta, queue/idle.lua.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: claim.  Home: cluster.  Nonce: yes.  Full: refused.
-- Repeatable: with a new nonce.
-- Arguments:
--   class       text 4k  "<account>|?"
--   is_parking  flag     grant a credit when there is none
-- Replies: claim/<claim as text> | parked/ms until the next lease of a lookup ends or '' | empty | replay
local lookups = require('lookup/lookups')
local idle = require('queue/idle')

local function verb(turn, a)
    --- arguments
    local entry, scans_before = idle.own_entry(turn, class), turn.scans
    local text = lookups.next_claim(turn, entry)
    turn.scans = scans_before -- it was asked for
    if text then return text end
    if not is_parking then return 'empty' end
    idle.grant(entry)
    return 'parked\n' .. lookups.next_end(turn)
end

return {claim_lookup = verb}
