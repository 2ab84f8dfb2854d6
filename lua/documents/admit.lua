-- admit: counts a request, unless one of its limits is reached.
-- KEYS: limit:<what>:<who> zsets (include/limit.lua).  ARGV: nonce, limits.
-- Returns: ok | limited/retry ms/limit/window s | replay.  Wakes: nobody.  Repeatable: counts again.
-- Bound: LIMITS_MAX limits.
verbs.admit = function(a)
    if is_replayed(args[a]) then return 'replay' end
    return admit(args[a + 1]) or 'ok'
end
