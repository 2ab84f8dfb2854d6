-- check: what became of a query; while it has no outcome the node is written down as waiting for it.
-- Looking and registering are one atom, so no answer falls between them.
-- KEYS: t:<topic>; include/position.lua (what is before an Open query).
-- ARGV: nonce, topic, seq, user (name: must have a part in the topic; '' for any), look ('1': and wait;
--   '0': with the position, which costs a look at the queue; '-': without).
-- Returns: missing | replay | wait (nothing yet, registered) | <outcome as text, with status Open or
--   Pending too, then position/eta ('' unless Open and asked for)>
-- Wakes: nobody.  Repeatable: yes.
-- Bound: one query and its answer; include/position.lua.
verbs.check = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local topic, seq, user = args[a + 1], args[a + 2], args[a + 3]
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'a:' .. seq, 'w:' .. seq, 'u:' .. user)
    local row, state, waiting = got[1], got[2], got[4]
    if not row or (user ~= '' and not got[5]) then return 'missing' end
    local first = state and byte(state)
    if first and first ~= 80 then return outcome_text(row, state, got[3], nil, '\n\n') end
    if args[a + 4] == '1' then
        wait_for(topic, seq, waiting)
        return 'wait'
    end
    if first then return 'Pending\n' .. row .. '\n\n\n\n\n\n\n' end
    if args[a + 4] == '-' then return 'Open\n' .. row .. '\n\n\n\n\n\n\n' end
    local position, eta = position_of(topic, seq, call('HGET', key, 'open') or '')
    return 'Open\n' .. row .. '\n\n\n\n\n\n' .. position .. '\n' .. eta
end
