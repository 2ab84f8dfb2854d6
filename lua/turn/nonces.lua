-- nonces: which signed requests of a turn came before. A nonce argument is its 1-based place in the turn's list, 0 for
-- none, negative for one that is only to be recorded (a request that is sent again after a lost connection). The build
-- puts the look at it, turn.is_replayed_at, in front of each verb that has one (`--- arguments`).
local call, floor = redis.call, math.floor

local NONE = {} -- is never written

-- Uses up the nonces args[first] to args[first + n - 1]. Returns the places of those that were used before.
local function use(prefix, args, first, n, now_ms)
    if n == 0 then return NONE end
    local last, day = first + n - 1, floor(now_ms / 86400000)
    local today, yesterday = prefix .. 'nonces:' .. day, prefix .. 'nonces:' .. (day - 1)
    local in_today = call('SMISMEMBER', today, unpack(args, first, last))
    local in_yesterday = call('SMISMEMBER', yesterday, unpack(args, first, last))
    local seen, is_replayed_at = {}, {}
    for i = 1, n do
        local nonce = args[first + i - 1]
        if in_today[i] == 1 or in_yesterday[i] == 1 or seen[nonce] then is_replayed_at[tostring(i)] = true end
        seen[nonce] = true
    end
    call('SADD', today, unpack(args, first, last))
    return is_replayed_at
end

return {use = use}
