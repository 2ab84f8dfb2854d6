-- door_note: sets the metadata of a chat completion that is stored (queue/kept.lua).
-- KEYS: t:<topic>, stored.
-- Wakes: nobody.
-- Bound: one completion.
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   topic     name
--   seq       digits
--   account   name
--   user      name
--   asker     name
--   metadata  text 64k  as in y:<seq>
--   max_stored  number?   bytes that the account may have on this shard
--   max_stored_per_user  number?  of them each of its users
-- Replies: missing | replay | stored/bytes/limit/account or user | ok, then as door_show replies an answer
local kept = require('queue/kept')
local stored = require('queue/stored')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local key, row, note, counted = kept.completion_of(turn, topic, seq, account, user, asker)
    if not key then return 'missing' end
    local fresh = asker .. metadata
    if counted then
        local refusal
        counted, refusal = stored.move(turn, key, counted, account, user, #fresh - #note, max_stored,
                                       max_stored_per_user)
        if refusal then return refusal end
        call('HSET', key, 'stored', counted)
    end
    call('HSET', key, 'y:' .. seq, fresh)
    local parts = {'ok\n\0'}
    kept.put(turn, parts, key, seq, row, fresh)
    return parts
end

return {door_note = verb}
