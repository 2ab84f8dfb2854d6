-- nonces: detects replayed requests in a turn. A nonce argument is its 1-based index in the turn's list, 0 for none,
--   negative for one that is only recorded (a request that is resent after a lost connection). The build inserts the
--   check, turn.is_replayed_at, at the start of each verb that has a nonce (`--- arguments`).
local call, floor, format = redis.call, math.floor, string.format

-- The verbs whose first argument is a nonce, by name; the build fills them in.
--- takes_nonce

local DAY_MS, DAY_S = 86400000, 86400
local KEPT_DAYS = 3 -- a nonce is looked for on two
local BROUGHT_MAX = 5000

local NONE = {} -- is never written

-- Is one of the members that SMISMEMBER was asked for there?
local function is_any_in(found)
    for i = 1, #found do
        if found[i] == 1 then return true end
    end
    return false
end

-- Uses up the nonces args[first] to args[first + n - 1]. Returns the places of those that were used before.
local function use(prefix, args, first, n, now_ms)
    if n == 0 then return NONE end
    local last, day = first + n - 1, floor(now_ms / DAY_MS)
    local today, yesterday = prefix .. 'nonces:' .. day, prefix .. 'nonces:' .. (day - 1)
    local in_today = call('SMISMEMBER', today, unpack(args, first, last))
    local in_yesterday = call('SMISMEMBER', yesterday, unpack(args, first, last))
    if call('SADD', today, unpack(args, first, last)) == n and not is_any_in(in_yesterday) then return NONE end
    local seen, is_replayed_at = {}, {}
    for i = 1, n do
        local nonce = args[first + i - 1]
        if in_today[i] == 1 or in_yesterday[i] == 1 or seen[nonce] then is_replayed_at[tostring(i)] = true end
        seen[nonce] = true
    end
    return is_replayed_at
end

-- For verbs that run in the node's next call only: it uses their nonces again, so that a request which is lost between
-- the two calls can be sent again. `names`: of these verbs; `places`: where their arguments begin.
local function give_back(turn, names, places)
    local fresh = {}
    for i = 1, #names do
        local place = TAKES_NONCE[names[i]] and turn.args[places[i]]
        local n = place and not turn.is_replayed_at[place] and tonumber(place) or 0
        if n > 0 then fresh[#fresh + 1] = turn.args[2 + n] end
    end
    if #fresh > 0 then call('SREM', turn.prefix .. 'nonces:' .. floor(turn.now_ms / DAY_MS), unpack(fresh)) end
end

-- Nonces that were used on a day that has not come yet, since the clock went back, count for today.
local function bring_back(turn, day)
    for of = day + 1, day + KEPT_DAYS do
        local used = call('SPOP', turn.prefix .. 'nonces:' .. format('%d', of), BROUGHT_MAX)
        if #used > 0 then call('SADD', turn.prefix .. 'nonces:' .. day, unpack(used)) end
    end
end

-- Runs with each sync. Drops sets that no turn reads any more with UNLINK, which frees them in a background thread.
-- Redis frees a set that expires in its main thread, which takes 1 s for a million nonces; so sets expire a day later,
-- in case no node runs.
local function sweep(turn)
    local day = floor(turn.now_ms / DAY_MS)
    bring_back(turn, day)
    call('UNLINK', turn.prefix .. 'nonces:' .. (day - 2))
    for of = day - 1, day do
        call('EXPIREAT', turn.prefix .. 'nonces:' .. of, format('%d', (of + KEPT_DAYS) * DAY_S))
    end
end

return {use = use, give_back = give_back, sweep = sweep}
