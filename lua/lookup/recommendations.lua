-- recommendations: a page of them after a cursor, ascending.
-- KEYS: recommendations stream.
-- Wakes: nobody.
-- Bound: ends with the recommendation that reaches REPLY_BYTES; RECOMMENDATIONS_PAGE of them.
-- Lane: read.  Home: cluster.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   after  text 48  stream id, 0-0 from the start
-- Replies: replay | ok/<cursor of the last one>, then one recommendation (JSON) a line
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat
local REPLY_BYTES = bounds.REPLY_BYTES

local RECOMMENDATIONS_PAGE = 200

local function verb(turn, a)
    --- arguments
    local text, bytes = {'ok', after}, 0
    -- One by one: how large the next one is is known when it is read.
    while #text < RECOMMENDATIONS_PAGE + 2 and bytes < REPLY_BYTES do
        -- XREAD, since XRANGE refuses to look past the last id that there can be.
        local got = call('XREAD', 'COUNT', 1, 'STREAMS', turn.prefix .. 'recommendations', text[2])
        if not got then break end
        local entry = got[1][2][1]
        text[2] = entry[1]
        text[#text + 1] = entry[2][2]
        bytes = bytes + #entry[2][2]
    end
    return concat(text, '\n')
end

return {recommendations = verb}
