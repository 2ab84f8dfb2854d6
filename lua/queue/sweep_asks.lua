-- sweep_asks: questions go that nobody waits for any more: those that were kept for a while, and those of
-- nodes that died.
-- KEYS: asks zset; as delete.  ARGV: none.
-- Returns: how many went, SWEEP_MAX at most.  Wakes: nodes that wait for them.  Repeatable: yes.
-- Bound: SWEEP_MAX topics, of one query each.
local SWEEP_MAX = 500

verbs.sweep_asks = function()
    return format('%d', sweep_due_asks(SWEEP_MAX))
end
