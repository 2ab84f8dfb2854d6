-- retry: reopens a Failed or Cancelled query at the front of the queue and resets its attempts and its give-back count.
-- KEYS: t:<topic>, failed.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query, and the `open` field of its topic (TOPIC_OPEN_BYTES).
-- Lane: first.  Home: topic.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: the second time it is pending.
-- Arguments:
--   topic  name
--   seq    digits
-- Replies: ok | done | pending (it is Open or Pending already) | missing (blanked with its user's data, too) | replay
local claims = require('queue/claims')
local records = require('queue/records')
local bounds = require('turn/bounds')
local call = redis.call
local byte = string.byte

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local got = call('HMGET', P .. 't:' .. topic, 'q:' .. seq, 's:' .. seq)
    if not got[1] or records.user_of(got[1]) == '%' then return 'missing' end
    bounds.note_read(turn, 0, #got[1])
    local first = got[2] and byte(got[2])
    if first == 68 then return 'done' end
    if first ~= 70 and first ~= 67 then return 'pending' end
    call('ZREM', P .. 'failed', topic .. ' ' .. seq)
    call('HDEL', P .. 't:' .. topic, 'b:' .. seq, 'a:' .. seq)
    claims.reopen(turn, topic, {seq}, {0})
    return 'ok'
end

return {retry = verb}
