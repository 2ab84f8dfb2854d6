-- door_delete: deletes a chat completion that is stored (queue/kept.lua). With the only query of a topic that nobody
--   else has a tie to, the topic goes; otherwise its row stays without its texts, since Seqs must not change.
-- KEYS: t:<topic>, stored, partials:<topic>:<seq>, lookups:<topic>; as delete.
-- Wakes: as delete.
-- Bound: one query; as one step of delete.
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: the second time it is missing.
-- Arguments:
--   topic    name
--   seq      digits
--   account  name
--   user     name
--   asker    name
-- Replies: ok | missing | replay
local kept = require('queue/kept')
local stored = require('queue/stored')
local blank = require('topic/blank')
local leaving = require('topic/leave')
local hashes = require('turn/hashes')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local key, row, note, counted = kept.completion_of(turn, topic, seq, account, user, asker)
    if not key then return 'missing' end
    if seq == '1' and call('HGET', key, 'seq') == '1' and leaving.leave(turn, user, topic, '') == 'gone' then
        return 'ok'
    end
    if counted then
        local bytes = #row + #note + hashes.bytes_of(key, 'r:' .. seq, 'a:' .. seq, 'v:' .. seq)
        call('HSET', key, 'stored', (stored.move(turn, key, counted, account, user, -bytes)))
    end
    blank.blank_ended(turn, topic, seq, row)
    return 'ok'
end

return {door_delete = verb}
