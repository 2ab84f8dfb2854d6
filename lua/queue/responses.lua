-- responses: responses that are kept (`store` of POST /v1/responses). Fields of the topic:
--   i:<seq>   "<asker> <b or f> <bytes>": the name of the request that made it, which is part of its id; whether it
--             runs in the background; how long the request is that its engine gets. Once it has ended, a space and the
--             facts that its engine has said of the answer (queue/complete.lua)
--   j:<seq>   the body of that request, as it came
--   h:<seq>   1: an engine has begun its answer again, so its events have other numbers than before
--   v:<seq>   once it has ended: the deltas of its answer, packed (response_keep). Until then, or if its node was lost,
--             they are in partials:<topic>:<seq>
-- A response is its account's and its user's. It ends KEPT_S after it was made, which is its score in the zset
-- `responses` ("<topic> <seq>"): with the topic that was made for it, or without it, if the client has named the topic,
-- where the question and the text of the answer stay.
local outcomes = require('queue/outcomes')
local stored = require('queue/stored')
local blank = require('topic/blank')
local leaving = require('topic/leave')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local instants = require('turn/instants')
local call = redis.call
local byte, format, match = string.byte, string.format, string.match
local concat = table.concat

local KEPT_S, KEPT_MS = 2592000, 2592000000
local COMMANDS = 20 -- to delete one
local AT_ONCE = 256 -- pieces
local GONE = '"The response was deleted."'

local function log_of(turn, topic, seq)
    return turn.prefix .. 'partials:' .. topic .. ':' .. seq
end

-- Returns the topic's key, and by name the row, state and claim of a response of theirs; or nil.
local function response_of(turn, topic, seq, account, user, asker)
    local key = turn.prefix .. 't:' .. topic
    local got = hashes.fields(key, 'i:' .. seq, 'q:' .. seq, 's:' .. seq, 'u:' .. user, 'stored', 'seq')
    local note, row = got['i:' .. seq], got['q:' .. seq]
    bounds.note_read(turn, 1, #(row or ''))
    if not note or not row or not got['u:' .. user] then return nil end
    local by, kind, bytes, facts = match(note, '^(%S+) (%l) (%d+) ?(.*)$')
    local of_account, of_user = match(row, '^%d+\n(%S+) (%S+) ')
    if by ~= asker or of_account ~= account or of_user ~= user then return nil end
    return key, {
        row = row, state = got['s:' .. seq], stored = got.stored, last = got.seq, is_background = kind == 'b',
        request_bytes = bytes, facts = facts,
    }
end

-- The fields of one that is made.
local function fields_of(turn, topic, seq, asker, body, request_bytes, is_background)
    call('ZADD', turn.prefix .. 'responses', format('%d', turn.now_ms + KEPT_MS), topic .. ' ' .. seq)
    return 'i:' .. seq, asker .. (is_background and ' b ' or ' f ') .. format('%d', request_bytes), 'j:' .. seq, body
end

-- It is answered. Its pieces stay as long as it does: its node may be lost before it has packed them.
local function note_answer(turn, topic, seq, facts)
    local key = turn.prefix .. 't:' .. topic
    local note = call('HGET', key, 'i:' .. seq)
    if not note then return end
    call('HSET', key, 'i:' .. seq, note .. ' ' .. facts)
    call('EXPIRE', log_of(turn, topic, seq), KEPT_S)
end

-- The deltas in its log. There are none if its engine sends no deltas.
local function deltas_of(turn, topic, seq)
    local texts, after = {}, '-'
    while true do
        local entries = call('XRANGE', log_of(turn, topic, seq), after, '+', 'COUNT', AT_ONCE)
        for i = 1, #entries do
            local said = entries[i][2]
            if said[2] == 'd' then texts[#texts + 1] = said[4] end
            after = '(' .. entries[i][1]
        end
        bounds.note_read(turn, #entries / 16, 0)
        if #entries < AT_ONCE then return concat(texts, '\n') end
    end
end

local function is_running(state)
    return not state or byte(state) == 80
end

-- Was the topic made for a response?
local function is_own(topic)
    return match(topic, '^[^~]*~?resp_%x+$') ~= nil
end

local function uncount(turn, key, record, row, seq, bytes, ...)
    if not record then return end
    for _, letter in ipairs({...}) do bytes = bytes + hashes.bytes_of(key, letter .. seq) end
    call('HSET', key, 'stored', (stored.move_of_row(turn, key, record, row, -bytes)))
end

-- Deletes it with its question and answer: the topic, if that has nothing else; else its row stays without its texts,
-- since Seqs must not change.
local function drop(turn, key, topic, seq, user, got)
    if is_running(got.state) then outcomes.end_query(turn, topic, seq, 'C', GONE) end
    call('ZREM', turn.prefix .. 'asks', topic .. ' ' .. seq)
    call('ZREM', turn.prefix .. 'responses', topic .. ' ' .. seq)
    local is_last = got.last == seq and (seq == '1' or is_own(topic))
    if is_last and leaving.leave(turn, user, topic, '') == 'gone' then return end
    uncount(turn, key, got.stored, got.row, seq, #got.row, 'a:', 'j:', 'r:', 'v:')
    blank.blank_ended(turn, topic, seq, got.row)
end

-- Its time is over.
local function expire(turn, member)
    local topic, seq = match(member, '^(%S+) (%d+)$')
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'stored', 'seq')
    bounds.note_read(turn, COMMANDS, #(got[1] or ''))
    call('ZREM', turn.prefix .. 'responses', member)
    if not got[1] or call('HEXISTS', key, 'i:' .. seq) == 0 then return end
    if is_own(topic) then
        local user = match(got[1], '^%d+\n%S+ (%S+) ')
        return drop(turn, key, topic, seq, user, {row = got[1], state = got[2], stored = got[3], last = got[4]})
    end
    uncount(turn, key, got[3], got[1], seq, 0, 'j:', 'r:', 'v:')
    call('HDEL', key, 'i:' .. seq, 'j:' .. seq, 'r:' .. seq, 'v:' .. seq, 'h:' .. seq)
    call('UNLINK', log_of(turn, topic, seq))
end

local function sweep_due(turn, n)
    instants.pull_in(turn, turn.prefix .. 'responses', KEPT_MS)
    local due = call('ZRANGEBYSCORE', turn.prefix .. 'responses', '-inf', turn.now_text, 'LIMIT', 0, n)
    for i = 1, #due do expire(turn, due[i]) end
end

return {
    fields_of = fields_of, response_of = response_of, note_answer = note_answer, is_running = is_running,
    drop = drop, sweep_due = sweep_due, log_of = log_of, deltas_of = deltas_of,
}
