-- door_show: returns a chat completion that is stored (queue/kept.lua), or the request that it answers.
-- KEYS: t:<topic>.
-- Wakes: nobody.
-- Bound: one completion, or one request.
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic    name
--   seq      digits
--   account  name
--   user     name
--   asker    name
--   what     words answer|request
-- Replies: missing | replay | ok, then after a NUL parts: of an answer four as queue/kept.lua puts them, of a request
--   that (JSON)
local kept = require('queue/kept')
local bounds = require('turn/bounds')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local key, row, note = kept.completion_of(turn, topic, seq, account, user, asker)
    if not key then return 'missing' end
    local parts = {'ok\n\0'}
    if what == 'answer' then
        kept.put(turn, parts, key, seq, row, note)
        return parts
    end
    local request = call('HGET', key, 'r:' .. seq) or '""'
    bounds.note_read(turn, 1, #request)
    kept.put_part(parts, request)
    return parts
end

return {door_show = verb}
