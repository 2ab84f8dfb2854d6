-- unnote_lookup: open_lookup has refused what note_lookup wrote down.
-- Stops this race: an equal request came in between and was not refused; its note is another one.
-- KEYS: lookups:<topic>.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic        name
--   seq          digits
--   fingerprint  name
--   stamp        name
-- Replies: ok
local call = redis.call
local match = string.match

local function verb(turn, a)
    --- arguments
    local mine, field = turn.prefix .. 'lookups:' .. topic, seq .. ' ' .. fingerprint
    if match(call('HGET', mine, field) or '', '^%d+%.(%d+)$') == stamp then call('HDEL', mine, field) end
    return 'ok'
end

return {unnote_lookup = verb}
