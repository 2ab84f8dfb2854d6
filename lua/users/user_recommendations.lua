-- user_recommendations: returns a page of a user's recommendations from all accounts, oldest first.
-- KEYS: recommendations stream, recommenders, recommended:<account>:<user>.
-- Wakes: nobody.
-- Bound: ends with the recommendation that reaches REPLY_BYTES; the ids of all that are stored of the user.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user   name
--   after  text? 48  stream id; from the first on without
-- Replies: replay | ok/id to continue after ('' when there are no more), then one recommendation (JSON) a line
local recommended = require('lookup/recommended')
local bounds = require('turn/bounds')
local call = redis.call
local concat, sort = table.concat, table.sort
local REPLY_BYTES = bounds.REPLY_BYTES
local parts_of, is_before = recommended.parts_of, recommended.is_before

local function verb(turn, a)
    --- arguments
    local P, ids, text, bytes = turn.prefix, {}, {'ok', ''}, 0
    local last = after ~= '' and parts_of(after)
    for _, account in ipairs(call('ZRANGE', P .. 'recommenders', 0, -1)) do
        bounds.note_read(turn, 1, 0)
        for _, id in ipairs(call('LRANGE', P .. 'recommended:' .. account .. ':' .. user, 0, -1)) do
            local one = parts_of(id)
            if not last or is_before(last, one) then ids[#ids + 1] = one end
        end
    end
    sort(ids, is_before)
    for i = 1, #ids do
        local entry = call('XRANGE', P .. 'recommendations', ids[i][3], ids[i][3])[1]
        if entry then
            text[#text + 1] = entry[2][2]
            bytes = bytes + #entry[2][2]
        end
        bounds.note_read(turn, 1, 0)
        if bytes >= REPLY_BYTES and i < #ids then
            text[2] = ids[i][3]
            break
        end
    end
    return concat(text, '\n')
end

return {user_recommendations = verb}
