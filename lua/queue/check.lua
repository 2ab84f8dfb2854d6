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
--   user   name?                      must have a tie to the topic
--   mode   words wait|position|brief  position: of what is before it, which costs a look at the queue
-- Replies: missing | replay | wait (nothing yet, registered) | Open/… | Pending/… | <the outcome's status>/…, each as
--   queue/outcomes.lua has it, then position/eta ('' unless Open and asked for)
local facts_of = require('queue/facts')
local outcomes = require('queue/outcomes')
local positions = require('queue/positions')
local waiters = require('queue/waiters')
local call = redis.call
local byte = string.byte

-- The row is read only with an outcome: each check that waits would make a string of it, as long as the client likes.
local function wait(turn, key, topic, seq, user)
    local got = call('HMGET', key, 'seq', 's:' .. seq, 'u:' .. user, 'w:' .. seq, 'a:' .. seq)
    local last, state = got[1], got[2]
    local is_there = last and (seq == last or (seq ~= '0' and tonumber(seq) < tonumber(last)))
    if not is_there or (user ~= '' and not got[3]) then return 'missing' end
    if state and byte(state) ~= 80 then
        return outcomes.as_text(call('HGET', key, 'q:' .. seq), state, got[5], nil, '\n\n')
    end
    waiters.add(turn, topic, seq, got[4])
    return 'wait'
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    if mode == 'wait' then return wait(turn, key, topic, seq, user) end
    local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'a:' .. seq, 'u:' .. user, 'f:' .. seq)
    local row, state = got[1], got[2]
    if not row or (user ~= '' and not got[4]) then return 'missing' end
    local first = state and byte(state)
    if first and first ~= 80 then return outcomes.as_text(row, state, got[3], nil, '\n\n') end
    if first then return 'Pending\n' .. row .. '\n\n\n\n\n' .. facts_of.as_line(got[5]) .. '\n\n' end
    if mode == 'brief' then return 'Open\n' .. row .. '\n\n\n\n\n\n\n' end
    local position, eta = positions.position_of(turn, topic, seq, call('HGET', key, 'open') or '')
    return 'Open\n' .. row .. '\n\n\n\n\n\n' .. position .. '\n' .. eta
end

return {check = verb}
