-- door_keep: stores a chat completion as its client gets it, when its query has ended (queue/kept.lua).
-- KEYS: t:<topic>, stored.
-- Wakes: nobody.
-- Bound: one completion.
-- Lane: first.  Home: topic.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   seq     digits
--   answer  text 9m  JSON members, without braces
-- Replies: ok | missing (it is none, or has been deleted)
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local call = redis.call
local byte = string.byte

local DONE = 68

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 's:' .. seq, 'q:' .. seq, 'y:' .. seq, 'stored')
    bounds.note_read(turn, 1, #(got[2] or ''))
    if not got[3] or not got[1] or byte(got[1]) ~= DONE then return 'missing' end
    if call('HSETNX', key, 'v:' .. seq, answer) == 0 or not got[4] then return 'ok' end
    call('HSET', key, 'stored', stored.add_answer(turn, key, got[4], got[2], #answer))
    return 'ok'
end

return {door_keep = verb}
