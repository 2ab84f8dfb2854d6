-- partial: appends new pieces of an unfinished answer to its log (queue/pieces.lua) and renews the lease.
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
--   deltas     text? 1m  of a door's answer, instead of text: JSON, one a line. Of these 8 MiB are stored at most
--   is_more    flag      they are more than text that another engine could continue (queue/continuing.lua)
-- Replies: ok/next offset/age of the query (ms; with the first text that it ever got, or '')/number of the claim/nodes
--   that wait (by spaces)
--   | cancelled/next | gap/expected | lost | large | replay
local facts_of = require('queue/facts')
local held = require('queue/held')
local pieces = require('queue/pieces')
local records = require('queue/records')
local bounds = require('turn/bounds')
local call = redis.call
local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local match, sub = string.match, string.sub
local max = math.max

-- Would these texts without their first bytes begin within a character? Then they are not what is stored.
local function is_within_character(think, answer, skip)
    local first = skip < #think and byte(think, skip + 1) or byte(answer, skip - #think + 1)
    return first and first >= 128 and first < 192
end

-- Returns what append_deltas does.
local function append_text(turn, topic, seq, waiting, claim, offset, think, answer, max_bytes, is_shown)
    local have, is_first = pieces.begin(turn, topic, seq, claim)
    if offset > have then return 'gap\n' .. have end
    if offset + #think + #answer > max_bytes then return 'large' end
    local skip, had = have - offset, have
    if is_within_character(think, answer, skip) then return 'gap\n' .. have end
    for i, kind in ipairs({'t', 'a'}) do
        local text = i == 1 and think or answer
        local fresh = sub(text, skip + 1)
        skip = max(0, skip - #text)
        if fresh ~= '' then
            have = have + #fresh
            pieces.append(turn, topic, seq, waiting, claim .. '-' .. have, kind, fresh, is_shown)
        end
    end
    if have > had then pieces.finish(turn, topic, seq) end
    return nil, have, is_first and have > had
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'w:' .. seq, 'c:' .. lease, 'k:' .. seq, 'd:' .. seq)
    if not got[1] then return 'lost' end
    bounds.note_read(turn, 0, #got[1])
    local holding, by = records.claim_of(got[2])
    if holding ~= lease or by ~= holder then
        if got[4] and find(',' .. got[4] .. ',', ',' .. seq .. ',', 1, true) then
            return 'cancelled\n' .. format('%d', offset + #think + #answer + #gsub(deltas, '\n', ''))
        end
        return 'lost'
    end
    local claim = records.claim_number(got[2], got[5])
    local refused, have, is_first
    if deltas ~= '' then
        refused, have, is_first = pieces.append_deltas(turn, topic, seq, got[3], claim, offset, deltas)
        if is_more and not refused then call('HSET', key, 'e:' .. seq, '1') end
    else
        refused, have, is_first = append_text(turn, topic, seq, got[3], claim, offset, think, answer, max_bytes,
                                              mode == 'shown')
    end
    if refused then return refused end
    held.renew(turn, topic, lease, holder)
    if facts ~= '' then call('HSET', key, 'f:' .. seq, facts_of.merge(call('HGET', key, 'f:' .. seq), facts)) end
    if mode ~= 'whole' and got[6] ~= turn.node then call('HSET', key, 'd:' .. seq, turn.node) end
    local age = is_first and format('%d', max(0, turn.now_ms - match(got[1], '^%d+'))) or ''
    return 'ok\n' .. have .. '\n' .. age .. '\n' .. claim .. '\n' .. (got[3] or '')
end

return {partial = verb}
