-- response_show: returns a response that is kept (queue/responses.lua), or its request.
-- KEYS: t:<topic>, partials:<topic>:<seq>.
-- Wakes: nobody.
-- Bound: one response: its request, and its deltas (DELTAS_BYTES of queue/pieces.lua).
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic    name
--   seq      digits
--   account  name
--   user     name
--   asker    name
--   what     words answer|request|thread  request: without the deltas. thread: with the request that its engine got
-- Replies: missing | replay | ok, then after a NUL parts: Open, Pending, or what check replies; b or f; bytes of
--   its engine's request; 1 or '' (h:<seq>); j:<seq>; v:<seq> or ''; once it has ended, deltas that are not packed,
--   each on a line; r:<seq>, of a thread
local outcomes = require('queue/outcomes')
local responses = require('queue/responses')
local bounds = require('turn/bounds')
local call = redis.call
local byte = string.byte
local concat = table.concat

local function put(parts, text)
    parts[#parts + 1] = #text .. ':'
    parts[#parts + 1] = text
end

-- The state and the row, and the answer of one that has ended.
local function head_of(key, seq, got)
    if responses.is_running(got.state) then return (got.state and 'Pending\n' or 'Open\n') .. got.row end
    return concat(outcomes.as_text(got.row, got.state, call('HGET', key, 'a:' .. seq)))
end

local function verb(turn, a)
    --- arguments
    local key, got = responses.response_of(turn, topic, seq, account, user, asker)
    if not key then return 'missing' end
    local parts = {'ok\n\0'}
    put(parts, head_of(key, seq, got))
    put(parts, got.is_background and 'b' or 'f')
    put(parts, got.request_bytes)
    local kept = call('HMGET', key, 'h:' .. seq, 'j:' .. seq)
    put(parts, kept[1] or '')
    put(parts, kept[2])
    local has_log = what ~= 'request' and not responses.is_running(got.state) and byte(got.state) == 68
    local log = has_log and call('HGET', key, 'v:' .. seq)
    put(parts, log or '')
    put(parts, has_log and not log and responses.deltas_of(turn, topic, seq) or '')
    if what == 'thread' then put(parts, call('HGET', key, 'r:' .. seq) or '') end
    bounds.note_read(turn, 4, #kept[2] + #(log or ''))
    return parts
end

return {response_show = verb}
