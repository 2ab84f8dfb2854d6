-- response_show: returns a response that is kept (queue/responses.lua), or its request.
-- KEYS: t:<topic>, partials:<topic>:<seq>.
-- Wakes: nobody.
-- Bound: one response: a request, and the deltas (DELTAS_BYTES of queue/pieces.lua) or the answer.
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic    name
--   seq      digits
--   account  name
--   user     name
--   asker    name
--   what     words answer|request|sent  sent: the request that its engine got
-- Replies: missing | replay | ok, then after a NUL parts: Open, Pending, or what check replies, without the answer if
--   there are deltas; b or f; bytes of its engine's request; 1 or '' (h:<seq>); what its engine has said of the answer
--   (facts of complete); j:<seq>, or r:<seq> if that is wanted; and of an answer that has ended v:<seq>, and deltas
--   that are not packed, each on a line
local outcomes = require('queue/outcomes')
local responses = require('queue/responses')
local bounds = require('turn/bounds')
local call = redis.call
local byte = string.byte
local concat = table.concat

local DONE = 68

local function put(parts, text)
    parts[#parts + 1] = #text .. ':'
    parts[#parts + 1] = text
end

-- The state and the row; without deltas, the answer of one that is Done.
local function head_of(key, seq, got, has_deltas)
    if responses.is_running(got.state) then return (got.state and 'Pending\n' or 'Open\n') .. got.row end
    local is_done = byte(got.state) == DONE
    local answer = not (is_done and has_deltas) and call('HGET', key, 'a:' .. seq) or is_done and '\n\n\n\n'
    return concat(outcomes.as_text(got.row, got.state, answer))
end

local function verb(turn, a)
    --- arguments
    local key, got = responses.response_of(turn, topic, seq, account, user, asker)
    if not key then return 'missing' end
    local text = call('HGET', key, (what == 'sent' and 'r:' or 'j:') .. seq) or ''
    local log, deltas = '', ''
    if what == 'answer' and got.state and byte(got.state) == DONE then
        log = call('HGET', key, 'v:' .. seq) or ''
        if log == '' then deltas = responses.deltas_of(turn, topic, seq) end
    end
    local parts = {'ok\n\0'}
    put(parts, head_of(key, seq, got, what ~= 'answer' or log ~= '' or deltas ~= ''))
    put(parts, got.is_background and 'b' or 'f')
    put(parts, got.request_bytes)
    put(parts, call('HGET', key, 'h:' .. seq) or '')
    put(parts, got.facts)
    put(parts, text)
    put(parts, log)
    put(parts, deltas)
    bounds.note_read(turn, 6, #text + #log)
    return parts
end

return {response_show = verb}
