-- job_text: returns a part of the stored text that a job works on, the first one with where its pages begin.
-- KEYS: job:<job>, doc:<doc>, text:<doc>:<n>.
-- Wakes: nobody.
-- Bound: the pages (job_parsed); ends with the block that reaches REPLY_BYTES.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job    name
--   lease  text 20
--   from   number   of the first block
-- Replies: lost | blocks as parts; none when there are no more. Before block 0 comes a part with the pages, empty
--   without any
local jobs = require('documents/jobs')
local storage = require('documents/storage')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format
local REPLY_BYTES = bounds.REPLY_BYTES

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    if not j then return 'lost' end
    local got = call('HMGET', turn.prefix .. 'doc:' .. j.doc, 'text', 'blocks')
    local key, parts, bytes = storage.text_key(turn, j.doc, got[1]), {}, 0
    if from == 0 then storage.put_part(parts, call('HGET', key, 'pages') or '') end
    for block = from, got[2] - 1 do
        local text = call('HGET', key, format('%d', block))
        storage.put_part(parts, text)
        bytes = bytes + #text
        if bytes >= REPLY_BYTES then break end
    end
    return parts
end

return {job_text = verb}
