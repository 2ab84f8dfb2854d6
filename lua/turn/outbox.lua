-- outbox: with several shards, work that a verb of this shard has left for another shard. A node takes items, does them
--   and confirms them with its next call. An unconfirmed item is handed out again after TAKEN_MS, so a node that dies
--   loses nothing; doing an item twice is harmless.
-- KEYS: outbox zset (what is to be done -> not before, ms).
-- Wakes: nobody.
-- Bound: TAKE_MAX items.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   is_taking  flag
--   each done 100:
--     text  text 1k
-- Replies: (what is to be done, each on a line; none: nothing is due)
local instants = require('turn/instants')
local call = redis.call
local concat = table.concat
local format = string.format

local TAKE_MAX, TAKEN_MS = 100, 10000

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 'outbox'
    if done_from <= done_to then call('ZREM', key, unpack(args, done_from, done_to)) end
    if not is_taking then return '' end
    instants.pull_in(turn, key, TAKEN_MS)
    local due = call('ZRANGEBYSCORE', key, '-inf', turn.now_text, 'LIMIT', 0, TAKE_MAX)
    local until_ms = format('%d', turn.now_ms + TAKEN_MS)
    for i = 1, #due do call('ZADD', key, until_ms, due[i]) end
    return concat(due, '\n')
end

return {outbox = verb}
