-- nonce_again: a request has a used nonce. Was the same request held, and lost without an answer? Then it is admitted
--   once more, by this call alone: its mark is gone after it.
-- A node that has died is known by its channel, which nobody reads any more. When it died is not known; it was alive at
--   its last sync.
-- KEYS: lost:<mark> string with TTL, nodes zset, held:<node> set with TTL.
-- Wakes: nobody.
-- Bound: the nodes of the last minute.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: no.
-- Arguments:
--   mark      name    of its nonce and its target; on the shard of the nonce
--   sync_ms   number  how often few nodes sync (queue/pace.lua)
-- Replies: admitted | held (by a node that lives, which may not have noticed yet that the client has left) | used
local held_nonces = require('auth/held_nonces')
local idle = require('queue/idle')
local pace = require('queue/pace')
local bounds = require('turn/bounds')
local call = redis.call
local max = math.max

-- The node that holds it, and when it was seen last.
local function holder_of(turn, mark)
    local nodes = call('ZRANGE', turn.prefix .. 'nodes', 0, -1, 'WITHSCORES')
    for i = 1, #nodes, 2 do
        bounds.note_read(turn, 1, 0)
        if call('SISMEMBER', held_nonces.key_of(turn, nodes[i]), mark) == 1 then return nodes[i], nodes[i + 1] end
    end
    return nil
end

local function verb(turn, a)
    --- arguments
    if call('DEL', held_nonces.lost_key(turn, mark)) == 1 then return 'admitted' end
    local node, seen_ms = holder_of(turn, mark)
    if not node then return 'used' end
    if idle.is_alive(turn, node) then return 'held' end
    call('SREM', held_nonces.key_of(turn, node), mark)
    local silent_ms = max(sync_ms, 1.5 * pace.least_ms(turn))
    return turn.now_ms - seen_ms <= held_nonces.AGAIN_MS + silent_ms and 'admitted' or 'used'
end

return {nonce_again = verb}
