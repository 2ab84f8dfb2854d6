-- recommendations: a page of them behind a cursor, ascending.
-- KEYS: recommendations stream.  ARGV: nonce, after (stream id, '0-0' from the start).
-- Returns: replay | ok/<cursor of the last one>, then one recommendation (JSON) a line.
-- Wakes: nobody.  Repeatable: yes.
-- Bound: ends with the recommendation that reaches REPLY_BYTES; RECOMMENDATIONS_PAGE of them.
local RECOMMENDATIONS_PAGE = 200

verbs.recommendations = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local text, bytes = {'ok', args[a + 1]}, 0
    -- One by one: how large the next one is is known when it is read.
    while #text < RECOMMENDATIONS_PAGE + 2 and bytes < REPLY_BYTES do
        -- XREAD, since XRANGE refuses to look past the last id that there can be.
        local got = call('XREAD', 'COUNT', 1, 'STREAMS', P .. 'recommendations', text[2])
        if not got then break end
        local entry = got[1][2][1]
        text[2] = entry[1]
        text[#text + 1] = entry[2][2]
        bytes = bytes + #entry[2][2]
    end
    return concat(text, '\n')
end
