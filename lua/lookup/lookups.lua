-- lookups: the life of a lookup: opened for an account, closed when it is done, forgotten with the last topic that
-- needs it.
local idle = require('queue/idle')
local events = require('turn/events')
local call = redis.call

-- A lookup is to be done, because of that account.
local function open(turn, fingerprint, account)
    local P = turn.prefix
    if call('ZADD', P .. 'lookups', turn.now_ms, fingerprint) == 0 then return end
    call('HSET', P .. 'lookup:' .. fingerprint, 'by', account)
    call('HINCRBY', P .. 'lookups_of', account, 1)
end

-- It is done, or nobody needs it any more.
local function close(turn, fingerprint)
    local P = turn.prefix
    if call('ZREM', P .. 'lookups', fingerprint) == 0 then return end
    local key = P .. 'lookup:' .. fingerprint
    local account = call('HGET', key, 'by')
    if not account then return end
    call('HDEL', key, 'by')
    if call('HINCRBY', P .. 'lookups_of', account, -1) <= 0 then call('HDEL', P .. 'lookups_of', account) end
end

-- A topic no longer needs a lookup; it goes with the last one that did.
local function forget(turn, fingerprint)
    local P = turn.prefix
    local key = P .. 'lookup:' .. fingerprint
    if call('HINCRBY', key, 'refs', -1) > 0 then return end
    local alias = call('HGET', key, 'alias')
    if alias then call('HDEL', P .. 'lookup_alias', alias) end
    close(turn, fingerprint)
    call('DEL', key)
end

-- Wakes the nodes that have polls for lookups, which uses their registrations up. All of them: a registration outlives
-- its poll, so one node alone may have none left.
local function wake_nodes(turn)
    local key = turn.prefix .. 'lookup_nodes'
    local nodes = call('SMEMBERS', key)
    if #nodes == 0 then return end
    for _, to in ipairs(nodes) do
        if to == turn.node or idle.is_alive(turn, to) then events.send(turn, to, 'lookup') end
    end
    call('DEL', key)
end

return {open = open, close = close, forget = forget, wake_nodes = wake_nodes}
