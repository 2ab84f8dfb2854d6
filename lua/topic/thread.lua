-- thread: all queries of a topic with what became of them, ascending.
-- KEYS: t:<topic>.  ARGV: nonce, topic, user (name; '' for any), before (Seq: only earlier ones; '' for all).
-- Returns: missing | replay | ok, then per query its Seq and 13 lines as in include/outcome.lua
--   (status Open and Pending too).  THREAD_MAX newest queries.
-- Wakes: nobody.  Repeatable: yes.
local THREAD_MAX, CHUNK = 5000, 500

verbs.thread = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local key, user = P .. 't:' .. args[a + 1], args[a + 2]
    local got = call('HMGET', key, 'seq', 'u:' .. user)
    if not got[1] or (user ~= '' and not got[2]) then return 'missing' end
    local last = tonumber(got[1])
    if args[a + 3] ~= '' then last = min(last, tonumber(args[a + 3]) - 1) end
    local text = {'ok'}
    for from = max(1, last - THREAD_MAX + 1), last, CHUNK do
        local fields, to = {}, min(from + CHUNK - 1, last)
        for seq = from, to do
            for _, letter in ipairs({'q:', 's:', 'a:'}) do fields[#fields + 1] = letter .. seq end
        end
        local values = call('HMGET', key, unpack(fields))
        for seq = from, to do
            local at = (seq - from) * 3
            local row, state, answer = values[at + 1], values[at + 2], values[at + 3]
            local first = state and byte(state)
            text[#text + 1] = seq
            if first and first ~= 80 then
                text[#text + 1] = outcome_text(row, state, answer)
            else
                text[#text + 1] = (first and 'Pending\n' or 'Open\n') .. row .. '\n\n\n\n\n'
            end
        end
    end
    return concat(text, '\n')
end
