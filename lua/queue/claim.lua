-- claim: the next claim for an engine's poll, or its poll is parked as a credit.
-- Guarantees: all Open queries of the topic whose turn it is become Pending under one new lease.
-- KEYS: include/fair.lua, include/claim.lua, include/idle.lua.
-- ARGV: nonce, class ("<account>|<models>"), is_parking ('1': grant a credit when there is no work).
-- Returns: claim/<claim as text> | parked | empty | replay
-- Wakes: nobody.  Repeatable: with a new nonce.
-- Bound: one claim: CLAIM_MAX queries and REPLY_BYTES, but one query at least; MODELS_MAX models looked at.
verbs.claim = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local entry = own_entry(args[a + 1])
    local looks_before = looks
    local text = claim_next(entry)
    looks = looks_before -- it was asked for; what this turn hands over unasked is counted alone
    if text then return 'claim\n' .. text end
    if args[a + 2] ~= '1' then return 'empty' end
    add_credit(entry, 1)
    return 'parked'
end
