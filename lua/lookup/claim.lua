-- claim_lookup: the lookup that may be claimed since the longest time, for an engine's poll, or its poll is parked as a
-- credit. It may be claimed again once its lease has passed: a short one, until it is delivered.
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
    local entry, looks_before = idle.own_entry(turn, class), turn.looks
    local text = lookups.next_claim(turn, entry)
    turn.looks = looks_before -- it was asked for
    if text then return text end
    if not is_parking then return 'empty' end
    idle.grant(entry)
    return 'parked\n' .. lookups.next_end(turn)
end

return {claim_lookup = verb}
