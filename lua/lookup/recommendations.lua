-- recommendations: returns a page of recommendations after a cursor, oldest first; for engines that ask, also the ids
--   of those removed since.
-- KEYS: recommendations stream, unrecommended stream.
-- Wakes: nobody.
-- Bound: ends with the recommendation that reaches REPLY_BYTES; RECOMMENDATIONS_PAGE of them, REMOVED_KEPT ids of
--   removed ones.
-- Lane: slow.  Home: cluster.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   after         text 48  stream id; 0-0: from the start
--   with_removed  flag     return the ids of removed ones too
-- Replies: replay | ok/cursor to continue after/1: the cursor is too old, discard everything and start over/ids of
--   removed ones, separated by spaces/then for each recommendation its id and JSON, a line each
local recommended = require('lookup/recommended')
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat
local REPLY_BYTES = bounds.REPLY_BYTES
local REMOVED_KEPT, parts_of, is_before = recommended.REMOVED_KEPT, recommended.parts_of, recommended.is_before

local RECOMMENDATIONS_PAGE = 200

-- Puts the ids of removed recommendations into `text` and moves its cursor. `is_last`: the page reached the end.
local function put_removed(turn, text, after, is_last)
    local removed, key = {}, turn.prefix .. 'unrecommended'
    local first = call('XLEN', key) >= REMOVED_KEPT and call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
    if after ~= '0-0' and first and is_before(parts_of(after), parts_of(first[1])) then text[3] = 1 end
    local got = call('XREAD', 'COUNT', REMOVED_KEPT, 'STREAMS', key, after)
    local cursor = parts_of(text[2])
    for _, entry in ipairs(got and got[1][2] or {}) do
        local at = parts_of(entry[1])
        if is_before(cursor, at) then
            if not is_last then break end
            cursor, text[2] = at, entry[1]
        end
        removed[#removed + 1] = entry[2][2]
    end
    text[4] = concat(removed, ' ')
end

local function verb(turn, a)
    --- arguments
    local text, bytes, n, is_last = {'ok', after, 0, ''}, 0, 0, false
    -- One by one: the size of the next one is known only after reading it.
    while n < RECOMMENDATIONS_PAGE and bytes < REPLY_BYTES do
        -- XREAD, because XRANGE rejects an exclusive start at the largest possible id.
        local got = call('XREAD', 'COUNT', 1, 'STREAMS', turn.prefix .. 'recommendations', text[2])
        is_last = not got
        if is_last then break end
        local entry = got[1][2][1]
        text[2] = entry[1]
        text[#text + 1] = entry[1]
        text[#text + 1] = entry[2][2]
        n, bytes = n + 1, bytes + #entry[2][2]
    end
    if with_removed then put_removed(turn, text, after, is_last) end
    return concat(text, '\n')
end

return {recommendations = verb}
