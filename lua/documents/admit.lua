-- admit: counts a request unless one of its limits is reached.
-- KEYS: limit:<what>:<who> zsets (auth/limiter.lua).
-- Wakes: nobody.
-- Bound: LIMITS_MAX limits.
-- Lane: read.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: counts again.
-- Arguments:
--   space   name      whose shard counts it
--   limits  text? 4k
-- Replies: ok/left ("<limit> <left> <ms until one more is left>" of the limit with least left; '' without limits)
--   | limited/retry ms/limit/window s | replay
local limiter = require('auth/limiter')

local function verb(turn, a)
    --- arguments
    local refused, left = limiter.admit(turn, limits)
    return refused or 'ok\n' .. left
end

return {admit = verb}
