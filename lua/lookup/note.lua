-- note_lookup: the first half of add_lookup, of several shards: a query of a topic needs a lookup. The other half is
-- open_lookup; a node that dies between them leaves a note of a need that never began, which no list shows.
-- KEYS: t:<topic>, lookups:<topic> hash ("<seq> <fingerprint>" -> "<ms>.<stamp>"), meta.
-- Wakes: nobody.
-- Bound: one lookup, LOOKUPS_PER_TOPIC of a topic.
-- Lane: add.  Home: topic.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic        name
--   seq          digits
--   user         name?   must have a part in the topic
--   fingerprint  name
-- Replies: ok/number of the topic/stamp, with which this one may be taken back ('': it was there before)
--   | missing | waiting/n
local listed = require('lookup/listed')
local needs = require('lookup/needs')
local counters = require('turn/counters')
local call = redis.call
local match = string.match

local function verb(turn, a)
    --- arguments
    local had, refusal = listed.look(turn, topic, seq, user, fingerprint)
    if refusal then return refusal end
    local number, stamp = needs.number_of(turn, topic), counters.next_lease(turn)
    local when = had and match(had, '^%d+') or turn.now_text
    call('HSET', turn.prefix .. 'lookups:' .. topic, seq .. ' ' .. fingerprint, when .. '.' .. stamp)
    return 'ok\n' .. number .. '\n' .. (had and '' or stamp)
end

return {note_lookup = verb}
