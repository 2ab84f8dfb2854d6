-- status: returns the state of the queue, for operators.
-- KEYS: meta, models, turns:<model>, open:<model>:<user>, leases, engines, drained, nodes, nodes_gone, node_info, idle,
--   stat:<minute>, lookups, failed, jobs, waiting_jobs, wf_open, dlv_n, evaluations_open,
--   batches_open.
-- Wakes: nobody.
-- Bound: STATUS_USERS users, ENGINES_MAX engines, all nodes; no text of clients but names.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: replay | ok/depth/oldest age ms/in flight/open lookups/parked polls/added, done and failed of the last two
--   minutes/seconds they span/drained accounts, ','/Failed queries that are kept/unfinished runs, '' if too many to
--   count/jobs of documents that are running or next/those that no indexer can read/deliveries to bots/evaluations/
--   batches/n, then n engines that are there as "<account> <engine>" / state (queue/presence.lua) / age ms / info
--   (JSON), then per node its id / `alive` or `gone` / age ms / info (JSON)
local fair = require('queue/fair')
local idle = require('queue/idle')
local nodes = require('queue/nodes')
local pace = require('queue/pace')
local presence = require('queue/presence')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local floor, max, min = math.floor, math.max, math.min
local USERS_MAX = fair.USERS_MAX

local STATUS_USERS = 10000 -- looked at for the oldest query
local SILENT_MS = 10000    -- two syncs of a node; of many nodes later (queue/pace.lua)

-- The sum of a hash that counts by user, or by bot: runs of workflows (including those waiting for a person),
-- deliveries, evaluations, batches. '': there are too many users to count.
local function sum_of(turn, name)
    local key, n = turn.prefix .. name, 0
    local fields = call('HLEN', key)
    if fields > STATUS_USERS then return '' end
    bounds.note_read(turn, fields / 10, 0)
    for _, count in ipairs(fields > 0 and call('HVALS', key) or {}) do n = n + count end
    return format('%d', n)
end

local function put_node(turn, text, id, state, seen_ms)
    local n = #text
    text[n + 1], text[n + 2], text[n + 3] = id, state, format('%d', max(0, turn.now_ms - seen_ms))
    text[n + 4] = call('HGET', turn.prefix .. 'node_info', id) or '{}'
end

-- One that was killed listens no more; one that has just lost its connection is back in a moment.
local function put_nodes(turn, text)
    local found, gone = call('ZRANGE', turn.prefix .. 'nodes', 0, -1, 'WITHSCORES'), nodes.list_gone(turn)
    local silent_ms = max(SILENT_MS, 2 * pace.least_ms(turn))
    for i = 1, #found, 2 do
        local is_alive = tonumber(found[i + 1]) > turn.now_ms - silent_ms or idle.is_alive(turn, found[i])
        put_node(turn, text, found[i], is_alive and 'alive' or 'gone', found[i + 1])
    end
    for i = 1, #gone, 2 do put_node(turn, text, gone[i], 'gone', gone[i + 1]) end
    bounds.note_read(turn, #found + #gone, 0)
end

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
        concat(call('SMEMBERS', P .. 'drained'), ','),
        call('ZCARD', P .. 'failed'), sum_of(turn, 'wf_open'),
        call('XLEN', P .. 'jobs'), call('ZCARD', P .. 'waiting_jobs'),
        sum_of(turn, 'dlv_n'), sum_of(turn, 'evaluations_open'), sum_of(turn, 'batches_open')}
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
    bounds.note_read(turn, #engines / 5 + #credits / 10, 0)
    put_nodes(turn, text)
    return concat(text, '\n')
end

return {status = verb}
