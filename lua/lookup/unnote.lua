-- unnote_lookup: removes the note of a lookup that open_lookup has refused.
-- Stops this race: an equal request came in between and was accepted; its note has another stamp.
-- KEYS: lookups:<topic>, t:<topic>, stored.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic        name
--   seq          digits
--   fingerprint  name
--   stamp        name
--   bytes        number?  as note_lookup has counted them
-- Replies: ok
local noting = require('lookup/noting')
local bounds = require('turn/bounds')
local call = redis.call
local match = string.match

local function verb(turn, a)
    --- arguments
    local mine, field = turn.prefix .. 'lookups:' .. topic, seq .. ' ' .. fingerprint
    if match(call('HGET', mine, field) or '', '^%d+%.(%d+)$') ~= stamp then return 'ok' end
    call('HDEL', mine, field)
    local got = bytes and call('HMGET', turn.prefix .. 't:' .. topic, 'q:' .. seq, 'stored')
    bounds.note_read(turn, 0, got and #(got[1] or '') or 0)
    if got and got[1] and got[2] then noting.count(turn, topic, got[1], got[2], -bytes) end
    return 'ok'
end

return {unnote_lookup = verb}
