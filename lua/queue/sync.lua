-- sync: the slow rescan. A node reports that it is alive, reports its credits again, and claims for polls that missed
--   their hand-over (a lost message, a removed node).
-- KEYS: nodes zset (node -> last seen ms), node_info hash, idle, idle_lookups, engines hash, poll:<account>:<engine>,
--   drained set, settings hash, stat:<minute>, nonces:<day> set, nonce_marks:<minute> set, models set,
--   queue/nodes.lua, queue/fallback.lua, queue/claims.lua, lookup/lookups.lua.
-- Wakes: this node's polls only, SYNC_CLAIMS_MAX at most.
-- Bound: SYNC_CLAIMS_MAX claims, ending with the one that reaches SCAN_BYTES (the node then syncs again) or SCANS_MAX;
--   ENGINES_MAX engines and those named.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   info      json 1k
--   settings  text? 2k  those that should be the same on all nodes; of the cluster's shard
--   added     digits    since the last sync
--   done      digits    since the last sync
--   each class 150:
--     name       text 4k
--     parked     number   polls with a credit here
--     claiming   number   polls whose claims here may have run already: each may be a credit too
--     elsewhere  number   polls with a credit on another shard
--     lease      digits?  the latest claim of this shard that an engine of it got, since the last sync
--   each engine 100:
--     name  text 1k  "<account> <engine>", seen since the last sync
--     info  text 2k  JSON, or `left <poll>`, or `beat`
-- Replies: <ms until the next lease ends or model falls, or ''> <ms until the node's next sync at least, if nodes are
--   many (queue/pace.lua)>/<drained accounts, ','>, then per other text of
--   settings that a living node has: node/its info (JSON)/settings
local lookups = require('lookup/lookups')
local claims = require('queue/claims')
local fallback = require('queue/fallback')
local hints = require('queue/hints')
local idle = require('queue/idle')
local leases = require('queue/leases')
local nodes = require('queue/nodes')
local nonce_marks = require('queue/nonce_marks')
local pace = require('queue/pace')
local presence = require('queue/presence')
local rate = require('queue/rate')
local rescan = require('queue/rescan')
local bounds = require('turn/bounds')
local events = require('turn/events')
local instants = require('turn/instants')
local nonces = require('turn/nonces')
local parts = require('turn/parts')
local call = redis.call
local find, format, gsub, match, sub = string.find, string.format, string.gsub, string.match, string.sub
local concat = table.concat
local floor, max, min = math.floor, math.max, math.min
local SCANS_MAX = idle.SCANS_MAX
local AWAY = presence.AWAY
local STAT_S = rate.STAT_S
local SCAN_BYTES = bounds.SCAN_BYTES

local NODE_GONE_MS, SYNC_CLAIMS_MAX = nodes.GONE_MS, 1000
local LEFT_MS = 3000 -- an engine whose connection broke is back by then, or has gone
local COMMANDS = 12 -- for a claim
local DIFFERENT_MAX = 4 -- other settings that are returned

-- States this node's credits of one class again and takes what is claimable for them. Returns how many claims,
-- and bytes of them, are left to the next class.
local function serve_class(turn, class, parked, claiming, elsewhere, claims_left, bytes_left)
    local entry, kind = idle.own_entry(turn, class), idle.is_for_lookups(class) and lookups or claims
    idle.set_credits(entry, max(parked, min(idle.credits_of(turn, entry), parked + claiming)))
    if turn.is_sharded and kind == claims and parked + claiming + elsewhere > 0 then hints.state(turn, class) end
    while entry.credits + elsewhere > 0 and claims_left > 0 and bytes_left > 0 and turn.scans < SCANS_MAX do
        local text = kind.next_claim(turn, entry)
        if not text then break end
        local bytes = parts.bytes_of(text)
        bounds.note_read(turn, COMMANDS, bytes)
        claims_left, bytes_left = claims_left - 1, bytes_left - bytes
        if entry.credits > 0 then
            idle.take(entry)
            events.send(turn, turn.node, text)
        else
            elsewhere = elsewhere - 1
            events.send(turn, turn.node, parts.put_first('taken\n', text))
        end
    end
    return claims_left, bytes_left
end

-- Reads what a node says of an engine: its info; or `left <poll>`: the client of that poll has left, which is of
-- interest while no newer poll of the engine is known; or `beat`: it is still at work. Returns what to store, nil for
-- nothing.
local function heard_of(turn, engine, info, poll)
    if sub(info, 1, 1) == '{' then return turn.now_ms .. ' ' .. info end
    local left = match(info, '^left (%d+)$')
    if left and poll ~= turn.node .. ' ' .. left then return nil end
    local known = call('HGET', turn.prefix .. 'engines', engine)
    local head, tail = match(known or '', '^%d+( {"Models":"[^"]*","State":"%l+","ForMs":)%d+(.*)$')
    if not head then return nil end
    if left then return turn.now_ms .. head .. LEFT_MS .. tail end
    return turn.now_ms .. sub(known, find(known, ' ', 1, true), -1)
end

-- args[first] to args[last]: engines that this node has news of. Of one that has left or rests since then, which
-- may have been said to another node, that is older news.
local function note_engines(turn, first, last)
    local P = turn.prefix
    if first > last then return end
    local keys, new_n = {}, 0
    for k = first, last, 2 do keys[#keys + 1] = P .. 'poll:' .. (gsub(turn.args[k], ' ', ':', 1)) end
    local known = call('MGET', unpack(keys))
    bounds.note_read(turn, 2 * #keys, 0)
    for k = 1, #known do
        local at = first + 2 * k - 2
        local text = known[k] ~= AWAY and heard_of(turn, turn.args[at], turn.args[at + 1], known[k])
        if text then new_n = new_n + call('HSET', P .. 'engines', turn.args[at], text) end
    end
    if new_n > 0 then presence.forget_engines(turn) end
end

-- Pulls in deadlines past twice the time that this node knows: another one's settings may be longer, while they are
-- changed.
local function pull_in_deadlines(turn)
    local P, settings = turn.prefix, turn.settings
    local lease_ms = 2 * max(settings.lease_ms, settings.delivery_ms)
    instants.pull_in(turn, P .. 'leases', lease_ms)
    instants.pull_in(turn, P .. 'lookups', lease_ms)
    if settings.fallback_ms > 0 then instants.pull_in(turn, P .. 'falls', 2 * settings.fallback_ms) end
end

-- Notes the settings of this node, and returns those of living nodes that have other ones, as lines. While all agree
-- that costs two commands.
local function compare_settings(turn, settings)
    local key, others = turn.prefix .. 'settings', {}
    if settings == '' then return '' end
    call('HSET', key, settings, turn.now_ms .. ' ' .. turn.node)
    if call('HLEN', key) == 1 then return '' end
    local all = call('HGETALL', key)
    for i = 1, #all, 2 do
        local at, node = match(all[i + 1], '^(%d+) (%S+)$')
        if not instants.is_near(turn, at, NODE_GONE_MS) then
            call('HDEL', key, all[i])
        elseif all[i] ~= settings and #others < DIFFERENT_MAX and idle.is_alive(turn, node) then
            local about = call('HGET', turn.prefix .. 'node_info', node) or '{}'
            others[#others + 1] = '\n' .. node .. '\n' .. about .. '\n' .. all[i]
        end
    end
    return concat(others)
end

-- Nothing while the usual time of a sync is enough.
local function pace_text(turn)
    local least_ms = pace.least_ms(turn)
    return least_ms > pace.FEW_MS and format(' %d', least_ms) or ''
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    turn.is_rescan = true
    call('ZADD', P .. 'nodes', turn.now_ms, turn.node)
    call('HSET', P .. 'node_info', turn.node, info)
    nodes.forget_silent(turn)
    pull_in_deadlines(turn)
    if turn.is_sharded then
        hints.forget_oldest(turn)
        nonce_marks.sweep(turn)
    end
    local stat = P .. 'stat:' .. floor(turn.now_s / 60)
    for name, n in pairs({added = added, done = done}) do
        if n ~= '0' then
            call('HINCRBY', stat, name, n)
            call('EXPIRE', stat, STAT_S)
        end
    end
    nonces.sweep(turn)
    local claims_left, bytes_left, seen = SYNC_CLAIMS_MAX, SCAN_BYTES, {}
    for i = class_from, class_to, 5 do
        if not idle.is_for_lookups(args[i]) then fallback.note_class(turn, seen, args[i], args[i + 4]) end
    end
    fallback.note_seen(turn, seen)
    fallback.repair(turn)
    for i = class_from, class_to, 5 do
        claims_left, bytes_left = serve_class(turn, args[i], tonumber(args[i + 1]), tonumber(args[i + 2]),
                                              tonumber(args[i + 3]), claims_left, bytes_left)
    end
    rescan.run(turn)
    if claims_left <= 0 or bytes_left <= 0 then events.send(turn, turn.node, 'rescan') end
    note_engines(turn, engine_from, engine_to)
    leases.flush(turn)
    local first = call('ZRANGE', P .. 'leases', 0, 0, 'WITHSCORES')[2]
    return lookups.next_end(turn, fallback.sooner(turn, first)) .. pace_text(turn) .. '\n'
        .. concat(call('SMEMBERS', P .. 'drained'), ',') .. compare_settings(turn, settings)
end

return {sync = verb}
