-- status: returns the state of the queue, for operators.
-- KEYS: meta, models, turns:<model>, open:<model>:<user>, leases, engines, drained, nodes, node_info, idle,
--   stat:<minute>, lookups.
-- Wakes: nobody.
-- Bound: STATUS_USERS users, ENGINES_MAX engines, all nodes; no text of clients but names.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: replay | ok/depth/oldest age ms/in flight/open lookups/parked polls/added, done and failed of the last two
--   minutes/seconds they span/drained accounts, ','/n, then n engines that are there as "<account> <engine>" / state
--   (queue/presence.lua) / age ms / info (JSON), then per living node its id / age ms / info (JSON)
local fair = require('queue/fair')
local idle = require('queue/idle')
local presence = require('queue/presence')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local floor, max, min = math.floor, math.max, math.min
local USERS_MAX = fair.USERS_MAX

local STATUS_USERS = 10000 -- looked at for the oldest query
local SILENT_MS = 10000    -- two syncs of a node

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local oldest, users_left = nil, STATUS_USERS
    for _, model in ipairs(call('SMEMBERS', P .. 'models')) do
        if users_left <= 0 then break end
        bounds.note_read(turn, 1, 0)
        for _, user in ipairs(call('ZRANGE', P .. 'turns:' .. model, 0, min(USERS_MAX, users_left) - 1)) do
            users_left = users_left - 1
            local first = call('ZRANGE', P .. 'open:' .. model .. ':' .. user, 0, 0, 'WITHSCORES')[2]
            first = tonumber(first)
            if first and (not oldest or first < oldest) then oldest = first end
        end
    end
    bounds.note_read(turn, STATUS_USERS - users_left, 0)
    local parked, counts = 0, {added = 0, done = 0, failed = 0}
    local credits = call('ZRANGE', P .. 'idle', 0, -1, 'WITHSCORES')
    for i = 2, #credits, 2 do parked = parked + floor(credits[i]) end
    local minute = floor(turn.now_s / 60)
    for _, at in ipairs({minute, minute - 1}) do
        for name in pairs(counts) do
            counts[name] = counts[name] + (tonumber(call('HGET', P .. 'stat:' .. at, name)) or 0)
        end
    end
    local text = {'ok', max(counters.load(turn).depth, 0),
        oldest and format('%d', max(0, floor(turn.now_ms - oldest / 1000))) or '',
        call('ZCARD', P .. 'leases'), call('ZCARD', P .. 'lookups'), format('%d', parked),
        counts.added, counts.done, counts.failed, 60 + turn.now_s % 60,
        concat(call('SMEMBERS', P .. 'drained'), ',')}
    local engines, engine_n = call('HGETALL', P .. 'engines'), #text + 1
    text[engine_n] = 0
    for i = 1, #engines, 2 do
        local state = presence.state_of(turn, engines[i + 1])
        if state then
            local at, info = match(engines[i + 1], '^(%d+) (.*)$')
            text[engine_n] = text[engine_n] + 1
            text[#text + 1] = engines[i] .. '\n' .. state
            text[#text + 1] = format('%d', max(0, turn.now_ms - at))
            text[#text + 1] = info
        end
    end
    local nodes = call('ZRANGE', P .. 'nodes', 0, -1, 'WITHSCORES')
    bounds.note_read(turn, #nodes + #engines / 5 + #credits / 10, 0)
    for i = 1, #nodes, 2 do
        -- One that was killed listens no more; one that has just lost its connection is back in a moment.
        if tonumber(nodes[i + 1]) > turn.now_ms - SILENT_MS or idle.is_alive(turn, nodes[i]) then
            text[#text + 1] = nodes[i]
            text[#text + 1] = format('%d', max(0, turn.now_ms - nodes[i + 1]))
            text[#text + 1] = call('HGET', P .. 'node_info', nodes[i]) or '{}'
        end
    end
    return concat(text, '\n')
end

return {status = verb}
