-- nodes: the list of living nodes, `nodes` (node -> last seen ms) and `node_info`, and what goes with a node that has
-- left it: the credits that it had, and the marks of requests that it held. One that did not say that it leaves is in
-- `nodes_gone` for an hour, where operators see it.
local held_nonces = require('auth/held_nonces')
local hints = require('queue/hints')
local bounds = require('turn/bounds')
local instants = require('turn/instants')
local call = redis.call
local sub = string.sub

local GONE_MS = 60000
local SHOWN_MS, SHOWN_MAX = 3600000, 100 -- of those that are gone

-- Strikes off what other nodes and their engines must not count on any more. `gone`: their ids.
local function strike_off(turn, gone)
    local P, is_gone = turn.prefix, {}
    for _, id in ipairs(gone) do
        call('ZREM', P .. 'nodes', id)
        call('UNLINK', held_nonces.key_of(turn, id))
        is_gone[id] = true
    end
    if turn.is_sharded then hints.strike_off(turn, is_gone) end
    for _, key in ipairs({P .. 'idle', P .. 'idle_lookups'}) do
        local members = call('ZRANGE', key, 0, -1)
        bounds.note_read(turn, #members / 5, 0)
        for _, member in ipairs(members) do
            for _, id in ipairs(gone) do
                if sub(member, 1, #id + 1) == id .. ' ' then
                    bounds.note_read(turn, 1, 0)
                    call('ZREM', key, member)
                end
            end
        end
    end
end

-- A node that says that it ends: nobody misses it.
local function leave(turn, id)
    local P = turn.prefix
    strike_off(turn, {id})
    call('HDEL', P .. 'node_info', id)
    call('ZREM', P .. 'nodes_gone', id)
end

-- Those that are back, that have been gone for long, or that are too many.
local function sweep_gone(turn)
    local P, old = turn.prefix, {}
    local gone = call('ZREVRANGE', P .. 'nodes_gone', 0, -1, 'WITHSCORES')
    for i = 1, #gone, 2 do
        local is_back = call('ZSCORE', P .. 'nodes', gone[i])
        if is_back or i > 2 * SHOWN_MAX or not instants.is_near(turn, gone[i + 1], SHOWN_MS) then
            old[#old + 1] = gone[i]
            if not is_back then call('HDEL', P .. 'node_info', gone[i]) end
        end
    end
    if #old > 0 then call('ZREM', P .. 'nodes_gone', unpack(old)) end
    bounds.note_read(turn, #gone, 0)
end

-- Those that have not said anything for a minute.
local function forget_silent(turn)
    local P, ids = turn.prefix, {}
    instants.pull_in(turn, P .. 'nodes', 0)
    local silent = call('ZRANGEBYSCORE', P .. 'nodes', '-inf', turn.now_ms - GONE_MS, 'WITHSCORES')
    for i = 1, #silent, 2 do
        ids[#ids + 1] = silent[i]
        call('ZADD', P .. 'nodes_gone', silent[i + 1], silent[i])
    end
    if #ids > 0 then strike_off(turn, ids) end
    if call('EXISTS', P .. 'nodes_gone') == 1 then sweep_gone(turn) end
end

-- Each node that did not say that it left, with when it was last seen (ms): the silent ones of `nodes` are the
-- caller's.
local function list_gone(turn)
    return call('ZREVRANGE', turn.prefix .. 'nodes_gone', 0, SHOWN_MAX - 1, 'WITHSCORES')
end

return {GONE_MS = GONE_MS, leave = leave, forget_silent = forget_silent, list_gone = list_gone}
