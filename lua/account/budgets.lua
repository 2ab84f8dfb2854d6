-- budgets: limits of what an account uses of the doors (`/v1`): requests a minute, tokens a day, requests at a time.
--   They are on the account's shard, so that they are exact for all nodes:
--     limit:requests:<account>   zset of auth/limiter.lua
--     running:<account>          zset: "<node> <id>" of each request that is counted -> until when at the latest (ms)
--     spent:<account>            hash: day since 1970 (UTC) -> tokens
-- A request is counted before its query is added (budget_take). The query has "<node> <id>" in its field g:<seq>. The
-- script that ends the query charges it: its member leaves `running`, and its tokens are added to the day. Who finds
-- no member has been there before or was too late, so tokens count once. With several shards it leaves this for the
-- account's shard in the outbox (budget_charge).
-- A request whose time is over, or whose node is gone, is no longer counted, but its tokens still are when its query
-- ends.
local limiter = require('auth/limiter')
local bounds = require('turn/bounds')
local events = require('turn/events')
local instants = require('turn/instants')
local call = redis.call
local floor, format, match = math.floor, string.format, string.match
local max = math.max

local DAY_MS, WINDOW_S = 86400000, 60
local RUN_MAX_MS = 1860000   -- a request ends before (queue/asks.lua)
local KEEP_MS = 3600000      -- after which a member that no query has ended is forgotten
local LEFT_MS = 3000         -- until a query whose client has left is cancelled (services/openai/leaving.c), and more
local ORPHAN_MS = 60000      -- as queue/sweep_asks.lua
local SWEEP_MAX = 1000       -- of the oldest; an account has no more at a time (shared/auth/accounts.h)

local function running_of(turn, account)
    return turn.prefix .. 'running:' .. account
end

local function spent_of(turn, account)
    return turn.prefix .. 'spent:' .. account
end

local function limit_of(turn, account)
    return turn.prefix .. 'limit:requests:' .. account
end

local function running_n(turn, account)
    return call('ZCOUNT', running_of(turn, account), '(' .. turn.now_text, '+inf')
end

-- Those of nodes that are gone are no longer counted.
local function end_orphans(turn, account)
    local key, is_there = running_of(turn, account), {[turn.node] = true}
    local before = format('%d', turn.now_ms + RUN_MAX_MS - ORPHAN_MS)
    local old = call('ZRANGEBYSCORE', key, '(' .. turn.now_text, before, 'LIMIT', 0, SWEEP_MAX)
    bounds.note_read(turn, 2 * #old, 0)
    for i = 1, #old do
        local node = match(old[i], '^%S+')
        if is_there[node] == nil then is_there[node] = call('ZSCORE', turn.prefix .. 'nodes', node) ~= false end
        if not is_there[node] then call('ZADD', key, 'XX', turn.now_text, old[i]) end
    end
end

local function is_full(turn, account, most)
    if running_n(turn, account) < most then return false end
    end_orphans(turn, account)
    return running_n(turn, account) >= most
end

local function today(turn)
    return format('%d', floor(turn.now_ms / DAY_MS))
end

local function spent_today(turn, account)
    return tonumber(call('HGET', spent_of(turn, account), today(turn))) or 0
end

local function spend(turn, account, tokens)
    local key, day = spent_of(turn, account), today(turn)
    if call('HINCRBY', key, day, tokens) > tokens then return end
    for _, other in ipairs(call('HKEYS', key)) do -- the first ones of the day
        if other ~= day then call('HDEL', key, other) end
    end
    call('EXPIRE', key, 2 * DAY_MS / 1000)
end

-- Those of the last minute.
local function requests_n(turn, account)
    return call('ZCOUNT', limit_of(turn, account), format('(%.0f', turn.now_us - WINDOW_S * 1000000),
                '+inf')
end

-- Returns how many requests of this minute are left, and how many ms until all are.
local function requests_left(turn, account, most)
    local n = requests_n(turn, account)
    if n == 0 then return most, 0 end
    local newest = call('ZRANGE', limit_of(turn, account), -1, -1, 'WITHSCORES')[2]
    return max(0, most - n), WINDOW_S * 1000 - max(0, floor((turn.now_us - newest) / 1000))
end

-- Returns nil, or which budget is used up and for how many ms at least. Counts a request only if there is room in all.
local function take(turn, account, id, requests, tokens, running)
    local key = running_of(turn, account)
    call('ZREMRANGEBYSCORE', key, '-inf', format('(%d', turn.now_ms - KEEP_MS))
    instants.pull_in(turn, key, RUN_MAX_MS)
    if tokens and spent_today(turn, account) >= tokens then return 'tokens', DAY_MS - turn.now_ms % DAY_MS end
    if running and is_full(turn, account, running) then return 'running', 1000 end
    if requests then
        local refused = limiter.admit(turn, 'requests:' .. account .. ':' .. format('%d', requests) .. ':' .. WINDOW_S)
        if refused then return 'requests', tonumber(match(refused, '^limited\n(%d+)')) end
    end
    call('ZADD', key, format('%d', turn.now_ms + RUN_MAX_MS), turn.node .. ' ' .. id)
    call('PEXPIRE', key, RUN_MAX_MS + KEEP_MS)
    return nil, 0
end

-- It is not counted any more. `is_void`: no query of it will ever end; otherwise it may have one that is left.
local function release(turn, account, id, is_void)
    local key, member = running_of(turn, account), turn.node .. ' ' .. id
    if is_void then
        call('ZREM', key, member)
    else
        call('ZADD', key, 'XX', 'LT', format('%d', turn.now_ms + LEFT_MS), member)
    end
end

-- Its query has ended. On the account's shard.
local function charge(turn, account, grant, tokens)
    if call('ZREM', running_of(turn, account), grant) == 1 and tokens > 0 then spend(turn, account, tokens) end
end

-- The same on the shard of the query. `grant`: its field g:<seq>, which the caller deletes.
local function charge_anywhere(turn, account, grant, tokens)
    if not turn.is_sharded then return charge(turn, account, grant, tokens) end
    call('ZADD', turn.prefix .. 'outbox', 0, '$' .. account .. ' ' .. grant .. ' ' .. format('%d', tokens))
    events.send(turn, turn.node, 'outbox')
end

return {
    DAY_MS = DAY_MS, take = take, release = release, charge = charge, charge_anywhere = charge_anywhere,
    requests_n = requests_n, requests_left = requests_left, running_n = running_n, spent_today = spent_today,
}
