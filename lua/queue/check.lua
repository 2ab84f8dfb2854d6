-- check: returns the state of a query and, while it has no outcome, registers the node as waiting for it. Both happen
--   in one atomic step, so no answer is lost in between.
-- KEYS: t:<topic>; queue/positions.lua (what is before an Open query).
-- Wakes: nobody.
-- Bound: one query and its answer; queue/positions.lua.
-- Lane: read.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   seq    digits
--   user   name?                      must have a part in the topic
--   look   words wait|position|brief  position: of what is before it, which costs a look at the queue
-- Replies: missing | replay | wait (nothing yet, registered) | Open/… | Pending/… | <the outcome's status>/…, each as
--   queue/outcomes.lua has it, then position/eta ('' unless Open and asked for)
local outcomes = require('queue/outcomes')
local positions = require('queue/positions')
local waiters = require('queue/waiters')
local call = redis.call
local byte = string.byte

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    local got = look == 'wait' and call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'a:' .. seq, 'u:' .. user, 'w:' .. seq)
        or call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'a:' .. seq, 'u:' .. user)
    local row, state, waiting = got[1], got[2], got[5]
    if not row or (user ~= '' and not got[4]) then return 'missing' end
    local first = state and byte(state)
    if first and first ~= 80 then return outcomes.as_text(row, state, got[3], nil, '\n\n') end
    if look == 'wait' then
        waiters.add(turn, topic, seq, waiting)
        return 'wait'
    end
    if first then return 'Pending\n' .. row .. '\n\n\n\n\n\n\n' end
    if look == 'brief' then return 'Open\n' .. row .. '\n\n\n\n\n\n\n' end
    local position, eta = positions.position_of(turn, topic, seq, call('HGET', key, 'open') or '')
    return 'Open\n' .. row .. '\n\n\n\n\n\n' .. position .. '\n' .. eta
end

return {check = verb}
