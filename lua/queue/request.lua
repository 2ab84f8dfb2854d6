-- request: returns the client's request of a query of a door, to the node of the engine that holds it, and the pieces
-- of an answer that it continues.
-- KEYS: t:<topic>, partials:<topic>:<seq>.
-- Wakes: nobody.
-- Bound: one request; the pieces that queue/continuing.lua keeps.
-- Lane: read.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic      name
--   seq        digits
--   lease      text 20
--   continues  flag
-- Replies: ok/request (JSON), and if it continues NUL and the pieces, as `partials` replies them | lost
local continuing = require('queue/continuing')
local records = require('queue/records')
local bounds = require('turn/bounds')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 's:' .. seq, 'r:' .. seq)
    bounds.note_read(turn, 0, #(got[2] or ''))
    if not got[2] or records.claim_of(got[1]) ~= lease then return 'lost' end
    local parts = {'ok\n', got[2]}
    if continues then
        parts[3] = '\0'
        continuing.put_pieces(turn, topic, seq, parts)
    end
    return parts
end

return {request = verb}
