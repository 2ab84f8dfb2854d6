-- note_lookup: the first half of add_lookup, of several shards: a query of a topic needs a lookup. The other half is
-- open_lookup; a node that dies between them leaves a note of a need that never began, which no list shows.
-- KEYS: t:<topic>, lookups:<topic> hash ("<seq> <fingerprint>" -> "<ms>.<stamp>"), stored, meta.
-- Wakes: nobody.
-- Bound: one lookup, LOOKUPS_PER_TOPIC of a topic.
-- Lane: add.  Home: topic.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic        name
--   seq          digits
--   user         name?   must have a part in the topic
--   fingerprint  name
--   bytes        number?  of its fragment as JSON; without: they are not counted
--   max_stored   number?  that the query's account may have on this shard
--   max_stored_per_user  number?  of them each of its users; no limit without
-- Replies: ok/number of the topic/stamp, with which this one may be taken back ('': it was there before)
--   | missing | waiting/n | stored, as of add
local needs = require('lookup/needs')
local noting = require('lookup/noting')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call
local match = string.match
local LOOKUPS_PER_TOPIC = bounds.LOOKUPS_PER_TOPIC

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local got = call('HMGET', P .. 't:' .. topic, 'q:' .. seq, 'u:' .. user, 'stored')
    if not got[1] or (user ~= '' and not got[2]) then return 'missing' end
    local mine, field = P .. 'lookups:' .. topic, seq .. ' ' .. fingerprint
    local had = call('HGET', mine, field)
    if not had and call('HLEN', mine) >= LOOKUPS_PER_TOPIC then return 'waiting\n' .. LOOKUPS_PER_TOPIC end
    if not had and bytes then
        local refusal = noting.count(turn, topic, got[1], got[3], bytes, max_stored, max_stored_per_user)
        if refusal then return refusal end
    end
    local number, stamp = needs.number_of(turn, topic), counters.next_lease(turn)
    call('HSET', mine, field, (had and match(had, '^%d+') or turn.now_text) .. '.' .. stamp)
    return 'ok\n' .. number .. '\n' .. (had and '' or stamp)
end

return {note_lookup = verb}
