-- partial: appends new text of an unfinished answer and renews the lease. The stream partials:<topic>:<seq> has one
-- entry per piece, id "<claim>-<offset>" (what SSE clients see as event id; the offset is that of its end, in bytes of
-- all text), fields k ("t" think, "a" answer), x (text). Overlap with what is stored is ignored, a gap refused. A new
-- claim starts at offset 0.
-- KEYS: t:<topic>, leases, lease:<id>, partials:<topic>:<seq> stream.
-- Wakes: every node that waits for the query, with the text; if it was shown, with its end only, so that a node that
--   missed some reads it.
-- Bound: the text in the call.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: refused.
-- Repeatable: yes, by its offset.
-- Arguments:
--   topic      name
--   seq        digits
--   lease      text 20
--   offset     number   in bytes
--   think      text? 1m  raw
--   answer     text? 1m  raw
--   max_bytes  number
--   holder     name     account
--   mode       words whole|first|shown  whole: a request of its own. Of a node that shows pieces before they are stored
--                                       (the engine's socket): first: nobody was shown this one; shown: all were
--   facts      text? 1k  what the engine says of the answer so far: the JSON members FinishReason and Usage
-- Replies: ok/next offset/age of the query (ms; with the first text that it ever got, or '')/number of the claim/nodes
--   that wait (by spaces)
--   | cancelled/next | gap/expected | lost | large | replay
local facts_of = require('queue/facts')
local held = require('queue/held')
local records = require('queue/records')
local waiters = require('queue/waiters')
local bounds = require('turn/bounds')
local call = redis.call
local byte, find, format, match, sub = string.byte, string.find, string.format, string.match, string.sub
local max = math.max

local PARTIALS_S = 86400
local INLINE_MAX = 65536 -- nodes that wait fetch longer texts

-- The event for nodes that wait.
local function as_event(topic, seq, id, kind, text)
    if #text > INLINE_MAX then return 'changed\n' .. topic .. '\n' .. seq end
    return {'piece\n' .. topic .. '\n' .. seq .. '\n' .. id .. '\n' .. kind .. '\n', text}
end

-- Would these texts without their first bytes begin within a character? Then they are not what is stored.
local function is_within_character(think, answer, skip)
    local first = skip < #think and byte(think, skip + 1) or byte(answer, skip - #think + 1)
    return first and first >= 128 and first < 192
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'w:' .. seq, 'c:' .. lease, 'k:' .. seq, 'd:' .. seq)
    if not got[1] then return 'lost' end
    bounds.note_read(turn, 0, #got[1])
    local stream = P .. 'partials:' .. topic .. ':' .. seq
    local holding, by = records.claim_of(got[2])
    if holding ~= lease or by ~= holder then
        if got[4] and find(',' .. got[4] .. ',', ',' .. seq .. ',', 1, true) then
            return 'cancelled\n' .. format('%d', offset + #think + #answer)
        end
        return 'lost'
    end
    local last = call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
    local claim, have = records.claim_number(got[2], got[5]), 0
    if last then
        local of, at = match(last[1], '^(%d+)-(%d+)$')
        if tonumber(of) == claim then have = tonumber(at) else call('DEL', stream) end
    end
    if offset > have then return 'gap\n' .. have end
    if offset + #think + #answer > max_bytes then return 'large' end
    local skip = have - offset
    if is_within_character(think, answer, skip) then return 'gap\n' .. have end
    local is_new = false
    for i, kind in ipairs({'t', 'a'}) do
        local text = i == 1 and think or answer
        local fresh = sub(text, skip + 1)
        skip = max(0, skip - #text)
        if fresh ~= '' then
            have, is_new = have + #fresh, true
            local id = claim .. '-' .. have
            call('XADD', stream, id, 'k', kind, 'x', fresh)
            waiters.notify(turn, topic, seq, got[3], as_event(topic, seq, id, kind, mode == 'shown' and '' or fresh))
        end
    end
    if is_new then call('EXPIRE', stream, PARTIALS_S) end
    held.renew(turn, topic, lease, holder)
    if facts ~= '' then call('HSET', key, 'f:' .. seq, facts_of.merge(call('HGET', key, 'f:' .. seq), facts)) end
    if mode ~= 'whole' and got[6] ~= turn.node then call('HSET', key, 'd:' .. seq, turn.node) end
    local age = is_new and not last and format('%d', max(0, turn.now_ms - match(got[1], '^%d+'))) or ''
    return 'ok\n' .. have .. '\n' .. age .. '\n' .. claim .. '\n' .. (got[3] or '')
end

return {partial = verb}
