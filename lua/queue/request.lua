-- request: returns the client's request of a query of a door, to the node of the engine that holds it.
-- KEYS: t:<topic>.
-- Wakes: nobody.
-- Bound: one request.
-- Lane: read.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   seq    digits
--   lease  text 20
-- Replies: ok/request (JSON) | lost
local records = require('queue/records')
local bounds = require('turn/bounds')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 's:' .. seq, 'r:' .. seq)
    bounds.note_read(turn, 0, #(got[2] or ''))
    if not got[2] or records.claim_of(got[1]) ~= lease then return 'lost' end
    return {'ok\n', got[2]}
end

return {request = verb}
