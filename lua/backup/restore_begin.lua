-- restore_begin: makes rising numbers continue above all that the backup's cluster used: leases, generations of
--   documents and versions of spaces. So an engine or node that remembers a number of that cluster never meets it
--   again.
-- Stops these races: two restores find the same Redis empty; a node starts during a restore. A process that finds
--   `restoring` does not start (shared/redis/start.c). The key exists until the restore has finished, so also after an
--   interrupted one.
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
