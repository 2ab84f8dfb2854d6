-- share: limits what one account may have of something that is limited for all: half of it, so that no account, with
-- any number of users, takes all the room.
local call = redis.call
local ceil, max = math.ceil, math.max

local function of(most)
    return max(1, ceil(most / 2))
end

-- Counts in a hash by what it is counted for: one more, or one less. Returns how many there are.
local function count(key, field, delta)
    local n = call('HINCRBY', key, field, delta)
    if n <= 0 then call('HDEL', key, field) end
    return n
end

-- Returns what refuses one more of at most `most`, of which there are `n`: `account`, which has its share, `namespace`,
-- which has all of them, or nil. The hash `key` counts them by account.
local function refusal(key, account, n, most)
    if tonumber(call('HGET', key, account) or 0) >= of(most) then return 'account' end
    return n >= most and 'namespace' or nil
end

return {of = of, count = count, refusal = refusal}
