-- sync: the slow rescan. A node says that it is there, states its credits again, and takes what is
-- claimable for polls that missed their hand-over (a lost message, a struck-off node).
-- KEYS: nodes zset (node -> last seen ms), node_info hash, idle, engines hash, poll:<account>:<engine>, drained set,
--   stat:<minute> hash, nonces:<day> set, models set, include/claim.lua.
-- Wakes: this node's polls only, SYNC_CLAIMS_MAX at most.
-- Bound: SYNC_CLAIMS_MAX claims, ending with the one that reaches LOOK_BYTES or LOOKS_MAX; ENGINES_MAX engines and
--   those named.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   info   json 1k
--   added  digits   since the last sync
--   done   digits   since the last sync
--   each class 128:
--     name    text 4k
--     parked  number   polls
--   each engine 128:
--     name  text 1k  "<account> <engine>", seen since the last sync
--     info  json 1k
-- Replies: <ms until the next lease ends or ''>/<drained accounts, ','>
local NODE_GONE_MS, NONCE_S, SYNC_CLAIMS_MAX = 60000, 172800, 1000
local ENGINES_MAX, ENGINE_GONE_MS = 1000, 86400000

-- Nodes that have not said anything for a minute go, with the credits that they had.
local function forget_nodes()
    local gone = call('ZRANGEBYSCORE', P .. 'nodes', '-inf', now_ms - NODE_GONE_MS)
    if #gone == 0 then return end
    local members = call('ZRANGE', P .. 'idle', 0, -1)
    for _, id in ipairs(gone) do
        call('ZREM', P .. 'nodes', id)
        call('HDEL', P .. 'node_info', id)
        for _, member in ipairs(members) do
            if sub(member, 1, #id + 1) == id .. ' ' then call('ZREM', P .. 'idle', member) end
        end
    end
end

-- Engines choose their names: of those not seen for a day none is kept, of all others the newest. When they are
-- too many, those of an account with more than half of them go first: none pushes out the engines of others.
local function forget_engines()
    local all, seen, of_account = call('HGETALL', P .. 'engines'), {}, {}
    for i = 1, #all, 2 do
        local one = {at = tonumber(match(all[i + 1], '^%d+')), name = all[i], account = match(all[i], '^%S+')}
        if one.at > now_ms - ENGINE_GONE_MS then
            seen[#seen + 1] = one
            of_account[one.account] = (of_account[one.account] or 0) + 1
        else
            call('HDEL', P .. 'engines', one.name)
        end
    end
    local over = #seen - ENGINES_MAX
    if over <= 0 then return end
    sort(seen, function(x, y) return x.at < y.at or (x.at == y.at and x.name > y.name) end)
    for _, at_most in ipairs({ENGINES_MAX / 2, 0}) do
        for i = 1, #seen do
            local one = seen[i]
            if over > 0 and not one.is_gone and of_account[one.account] > at_most then
                call('HDEL', P .. 'engines', one.name)
                one.is_gone, over, of_account[one.account] = true, over - 1, of_account[one.account] - 1
            end
        end
    end
end

-- States this node's credits of one class again and takes what is claimable for them. Returns how many claims,
-- and bytes of them, are left to the next class.
local function serve_class(class, credits, claims_left, bytes_left)
    local entry = own_entry(class)
    entry.credits = credits
    idle_dirty[entry] = true
    while entry.credits > 0 and claims_left > 0 and bytes_left > 0 and looks < LOOKS_MAX do
        local text = claim_next(entry)
        if not text then break end
        add_credit(entry, -1)
        claims_left, bytes_left = claims_left - 1, bytes_left - #text
        events[#events + 1] = 'claim\n' .. text
    end
    return claims_left, bytes_left
end

local AWAY = 'away' -- what poll:<account>:<engine> holds of one that has left or rests

-- args[first] to args[last]: engines that polled, and their info. Of one that has left or rests since then, which
-- may have been said to another node, that is older news.
local function note_engines(first, last)
    if first > last then return end
    local keys, new_n = {}, 0
    for k = first, last, 2 do keys[#keys + 1] = P .. 'poll:' .. (gsub(args[k], ' ', ':', 1)) end
    local polls = call('MGET', unpack(keys))
    for k = 1, #polls do
        if polls[k] ~= AWAY then
            local at = first + 2 * k - 2
            new_n = new_n + call('HSET', P .. 'engines', args[at], now_ms .. ' ' .. args[at + 1])
        end
    end
    if new_n > 0 then forget_engines() end
end

verbs.sync = function(a)
    --- arguments
    call('ZADD', P .. 'nodes', now_ms, node)
    call('HSET', P .. 'node_info', node, info)
    forget_nodes()
    local stat = P .. 'stat:' .. floor(now_s / 60)
    for name, n in pairs({added = added, done = done}) do
        if n ~= '0' then
            call('HINCRBY', stat, name, n)
            call('EXPIRE', stat, STAT_S)
        end
    end
    local day = floor(now_ms / 86400000)
    call('EXPIRE', P .. 'nonces:' .. day, NONCE_S, 'NX')
    call('EXPIRE', P .. 'nonces:' .. (day - 1), NONCE_S, 'NX') -- of a cluster that stopped in between
    local claims_left, bytes_left = SYNC_CLAIMS_MAX, LOOK_BYTES
    for i = class_from, class_to, 2 do
        claims_left, bytes_left = serve_class(args[i], tonumber(args[i + 1]), claims_left, bytes_left)
    end
    note_engines(engine_from, engine_to)
    flush_leases()
    local first = call('ZRANGE', P .. 'leases', 0, 0, 'WITHSCORES')[2]
    return (first and format('%d', max(0, first - now_ms)) or '') .. '\n'
        .. concat(call('SMEMBERS', P .. 'drained'), ',')
end
