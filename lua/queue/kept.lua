-- kept: chat completions that clients have stored (`store`, or a topic that keeps them). Fields of the topic:
--   y:<seq>   name of the request that made it, which is part of its id; then the pairs of `metadata` as JSON members
--             ("name":"text"), each on a line between two newlines. No JSON text contains a newline, so a pair is found
--             by its line
--   v:<seq>   the completion as its client got it: JSON members without id, metadata and braces. It is written once the
--             query has ended (door_keep); without it there is only the text of the answer, a:<seq>
-- A completion is its account's and its user's. A query that is cancelled or has failed is none.
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local byte, match = string.byte, string.match

local DONE = 68

-- Splits y:<seq> into the name and the pairs.
local function parse(note)
    return match(note, '^([^\n]*)(\n.*)$')
end

-- Is it a completion of theirs? `asker` may be nil: whichever request made it.
local function is_of(state, row, note, account, user, asker)
    if not note or not row or not state or byte(state) ~= DONE then return false end
    local of_account, of_user = match(row, '^%d+\n(%S+) (%S+) ')
    return of_account == account and of_user == user and (not asker or parse(note) == asker)
end

-- Returns the topic's key, the row, y:<seq> and the topic's field `stored` of a completion of theirs, or nil.
local function completion_of(turn, topic, seq, account, user, asker)
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 's:' .. seq, 'q:' .. seq, 'y:' .. seq, 'u:' .. user, 'stored')
    bounds.note_read(turn, 1, #(got[2] or ''))
    if not got[4] or not is_of(got[1], got[2], got[3], account, user, asker) then return nil end
    return key, got[2], got[3], got[5]
end

local function put_part(parts, text)
    parts[#parts + 1] = #text .. ':'
    parts[#parts + 1] = text
end

-- Bytes of a completion, without reading it.
local function bytes_of(key, seq)
    return hashes.bytes_of(key, 'v:' .. seq, 'a:' .. seq)
end

-- Puts four parts: name of its request, pairs, row, and v:<seq>, or a:<seq> if there is none (that begins with `[`).
local function put(turn, parts, key, seq, row, note)
    local asker, pairs_text = parse(note)
    local text = call('HGET', key, 'v:' .. seq) or call('HGET', key, 'a:' .. seq)
    bounds.note_read(turn, 1, #text)
    put_part(parts, asker)
    put_part(parts, pairs_text)
    put_part(parts, row)
    put_part(parts, text)
end

return {is_of = is_of, completion_of = completion_of, put = put, bytes_of = bytes_of, put_part = put_part}
