-- response_keep: stores the deltas of a response that has ended (queue/responses.lua), packed by its node. They take
--   the place of its log.
-- KEYS: t:<topic>, stored, partials:<topic>:<seq>.
-- Wakes: nobody.
-- Bound: one response.
-- Lane: first.  Home: topic.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   seq    digits
--   log    bytes 9m  its deltas, each on a line: how many bytes, a newline, and they as zlib has them
-- Replies: ok | missing (it is none, or has been deleted)
local responses = require('queue/responses')
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local call = redis.call
local byte = string.byte

local DONE = 68

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 's:' .. seq, 'q:' .. seq, 'i:' .. seq, 'stored')
    bounds.note_read(turn, 1, #(got[2] or ''))
    if not got[3] or not got[1] or byte(got[1]) ~= DONE then return 'missing' end
    if call('HSETNX', key, 'v:' .. seq, log) == 1 and got[4] then
        call('HSET', key, 'stored', stored.add_answer(turn, key, got[4], got[2], #log))
    end
    call('UNLINK', responses.log_of(turn, topic, seq))
    return 'ok'
end

return {response_keep = verb}
