-- restore_begin: numbers that rise go on above all that the backup's cluster gave: its leases, the generations of
-- documents and the versions of spaces. An engine or a node that remembers one of that cluster's meets none again.
-- Stops these races: two restores find the same Redis empty, and a node starts while one runs: what finds
-- `restoring` does not begin (shared/redis/start.c). It is there until the restore's end, so also after one that
-- was cut short.
-- KEYS: meta, restoring string.
-- Wakes: nobody.
-- Bound: one number, one key.
-- Lane: add.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   lease    number  no number at or below it is given from here on
--   restore  name    id of this restore
-- Replies: ok | other (another restore has begun)
local counters = require('turn/counters')
local call = redis.call
local max = math.max

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 'restoring'
    call('SETNX', key, restore)
    if call('GET', key) ~= restore then return 'other' end
    local meta = counters.load(turn)
    meta.lease, meta.is_dirty = max(meta.lease, lease), true
    return 'ok'
end

return {restore_begin = verb}
