-- recommendations: a page of them behind a cursor, ascending.
-- KEYS: recommendations stream.  ARGV: nonce, after (stream id, '0-0' from the start).
-- Returns: replay | ok/<cursor of the last one>, then one recommendation (JSON) a line.
-- Wakes: nobody.  Repeatable: yes.
local RECOMMENDATIONS_PAGE = 200

verbs.recommendations = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local text = {'ok', args[a + 1]}
    -- XREAD, since XRANGE refuses to look behind the last id that there can be.
    local got = call('XREAD', 'COUNT', RECOMMENDATIONS_PAGE, 'STREAMS', P .. 'recommendations', args[a + 1])
    for _, entry in ipairs(got and got[1][2] or {}) do
        text[2] = entry[1]
        text[#text + 1] = entry[2][2]
    end
    return concat(text, '\n')
end
