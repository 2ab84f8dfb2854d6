-- read_lookups: with several shards, returns the lookups that a topic needs.
-- KEYS: lookup:<fingerprint>, needs:<fingerprint>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one lookup at least.
-- Lane: read.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   need  text 1k  "<topic>:<number>"
--   each lookup 200:
--     fingerprint  name
-- Replies: ok, then of as many of them as fit, in their order: fragment (JSON, '' when the topic does not need it) /
--   matches (JSON, '' while there are none)
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local concat = table.concat
local REPLY_BYTES = bounds.REPLY_BYTES

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local text, bytes = {'ok'}, 0
    for i = lookup_from, lookup_to do
        local found, key = {}, P .. 'lookup:' .. args[i]
        if call('SISMEMBER', P .. 'needs:' .. args[i], need) == 1 then
            bytes = bytes + hashes.bytes_of(key, 'fragment', 'matches')
            if i > lookup_from and bytes > REPLY_BYTES then break end
            found = call('HMGET', key, 'fragment', 'matches')
        end
        text[#text + 1], text[#text + 2] = found[1] or '', found[2] or ''
    end
    return concat(text, '\n')
end

return {read_lookups = verb}
