-- nodes: the list of living nodes, `nodes` (node -> last seen ms) and `node_info`, and what goes with a node that has
-- left it: the credits that it had, and the marks of requests that it held.
local held_nonces = require('auth/held_nonces')
local hints = require('queue/hints')
local bounds = require('turn/bounds')
local instants = require('turn/instants')
local call = redis.call
local sub = string.sub

local GONE_MS = 60000

-- `gone`: their ids.
local function forget(turn, gone)
    local P, is_gone = turn.prefix, {}
    if #gone == 0 then return end
    for _, id in ipairs(gone) do
        call('ZREM', P .. 'nodes', id)
        call('HDEL', P .. 'node_info', id)
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

-- Those that have not said anything for a minute.
local function forget_silent(turn)
    instants.pull_in(turn, turn.prefix .. 'nodes', 0)
    forget(turn, call('ZRANGEBYSCORE', turn.prefix .. 'nodes', '-inf', turn.now_ms - GONE_MS))
end

return {GONE_MS = GONE_MS, forget = forget, forget_silent = forget_silent}
