-- unpark: a parked poll ended without a claim: its credit goes. If a hand-over has used the credit
-- up meanwhile, that claim is on its way and the node gives it to another poll or back.
-- KEYS: idle.  ARGV: class.  Returns: ok.  Wakes: nobody.  Repeatable: once per parked poll.
-- Bound: one credit.
verbs.unpark = function(a)
    local entry = own_entry(args[a])
    if entry.credits > 0 then add_credit(entry, -1) end
    return 'ok'
end
