-- response_log: returns the deltas of a response that has ended (queue/responses.lua), to the node that packs them; if
--   it has not ended, the node is notified when it does.
-- KEYS: t:<topic>, partials:<topic>:<seq>.
-- Wakes: nobody.
-- Bound: one response (DELTAS_BYTES of queue/pieces.lua).
-- Lane: read.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   seq    digits
-- Replies: runs | over (there is nothing to pack) | ok, then after a NUL deltas, each on a line
local responses = require('queue/responses')
local waiters = require('queue/waiters')
local call = redis.call
local byte = string.byte

local DONE = 68

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 's:' .. seq, 'i:' .. seq, 'w:' .. seq)
    if not got[2] then return 'over' end
    if responses.is_running(got[1]) then
        waiters.add(turn, topic, seq, got[3])
        return 'runs'
    end
    if byte(got[1]) ~= DONE or call('HEXISTS', key, 'v:' .. seq) == 1 then return 'over' end
    return {'ok\n\0', responses.deltas_of(turn, topic, seq)}
end

return {response_log = verb}
