-- check: what became of a query; while it has no outcome the node is written down as waiting for it.
-- Looking and registering are one atom, so no answer falls between them.
-- KEYS: t:<topic>; include/position.lua (what is before an Open query).
-- Wakes: nobody.
-- Bound: one query and its answer; include/position.lua.
-- Lane: read.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   seq    digits
--   user   name?                      must have a part in the topic
--   look   words wait|position|brief  position: of what is before it, which costs a look at the queue
-- Replies: missing | replay | wait (nothing yet, registered) | Open/… | Pending/… | <the outcome's status>/…, each as
--   outcome_text has it (include/outcome.lua), then position/eta ('' unless Open and asked for)
verbs.check = function(a)
    --- arguments
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'a:' .. seq, 'w:' .. seq, 'u:' .. user)
    local row, state, waiting = got[1], got[2], got[4]
    if not row or (user ~= '' and not got[5]) then return 'missing' end
    local first = state and byte(state)
    if first and first ~= 80 then return outcome_text(row, state, got[3], nil, '\n\n') end
    if look == 'wait' then
        wait_for(topic, seq, waiting)
        return 'wait'
    end
    if first then return 'Pending\n' .. row .. '\n\n\n\n\n\n\n' end
    if look == 'brief' then return 'Open\n' .. row .. '\n\n\n\n\n\n\n' end
    local position, eta = position_of(topic, seq, call('HGET', key, 'open') or '')
    return 'Open\n' .. row .. '\n\n\n\n\n\n' .. position .. '\n' .. eta
end
