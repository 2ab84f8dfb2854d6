-- admit: counts a request, unless one of its limits is reached.
-- KEYS: limit:<what>:<who> zsets (include/limit.lua).
-- Wakes: nobody.
-- Bound: LIMITS_MAX limits.
-- Lane: read.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: counts again.
-- Arguments:
--   limits  text? 4k
-- Replies: ok | limited/retry ms/limit/window s | replay
verbs.admit = function(a)
    --- arguments
    return admit(limits) or 'ok'
end
