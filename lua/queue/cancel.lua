-- cancel: stops a query permanently. Repeatable; refused once Done. Its engine learns of it with its next partial or
--   heartbeat, and its answer is refused.
-- KEYS: t:<topic>, leases, lease:<id>, failed.
-- Wakes: every node that waits for the query.
-- Bound: one query, and the `open` field of its topic (TOPIC_OPEN_BYTES).
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   seq     digits
--   user    name?    must have a tie to the topic
--   reason  json 8k
-- Replies: ok | ok/ended (its claim's lease ended with it) | done | failed | missing | replay
local outcomes = require('queue/outcomes')
local bounds = require('turn/bounds')
local call = redis.call
local byte = string.byte

local function verb(turn, a)
    --- arguments
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 'q:' .. seq, 's:' .. seq, 'u:' .. user)
    bounds.note_read(turn, 0, #(got[1] or ''))
    if not got[1] or (user ~= '' and not got[3]) then return 'missing' end
    local first = got[2] and byte(got[2])
    if first == 68 then return 'done' end
    if first == 70 then return 'failed' end
    if first ~= 67 and outcomes.end_query(turn, topic, seq, 'C', reason) then return 'ok\nended' end
    return 'ok'
end

return {cancel = verb}
