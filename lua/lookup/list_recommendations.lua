-- list_recommendations: returns a page of recommendations for operators, oldest first, each with its account and user:
--   all of them, or those of one user.
-- KEYS: recommendations stream.
-- Wakes: nobody.
-- Bound: reads LOOKED_MAX entries, lists LISTED_MAX of them; ends with the one that reaches REPLY_BYTES.
-- Lane: read.  Home: cluster.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   after  text 48  stream id; 0-0: from the start
--   user   name?    list only this user's
-- Replies: replay | ok/id to continue after ('' when there are no more), then for each its id, account, user and JSON,
--   a line each
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat
local REPLY_BYTES = bounds.REPLY_BYTES

local LOOKED_MAX, LISTED_MAX = 1000, 100

local function verb(turn, a)
    --- arguments
    local text, bytes, n, last = {'ok', ''}, 0, 0, after
    for _ = 1, LOOKED_MAX do
        local got = call('XREAD', 'COUNT', 1, 'STREAMS', turn.prefix .. 'recommendations', last)
        if not got then return concat(text, '\n') end
        local id, fields = got[1][2][1][1], got[1][2][1][2]
        last, bytes = id, bytes + #fields[2]
        bounds.note_read(turn, 1, #fields[2])
        if user == '' or fields[6] == user then
            local at = #text
            text[at + 1], text[at + 2], text[at + 3], text[at + 4] = id, fields[4], fields[6], fields[2]
            n = n + 1
        end
        if n == LISTED_MAX or bytes >= REPLY_BYTES then break end
    end
    text[2] = last
    return concat(text, '\n')
end

return {list_recommendations = verb}
