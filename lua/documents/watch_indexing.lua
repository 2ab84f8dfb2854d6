-- watch_indexing: registers this node as a watcher of a space and returns its running jobs and those that ended within
--   an hour. Both happen in one atomic step, so no event is lost in between.
-- KEYS: watchers:<space> zset (node -> until ms), recent_jobs:<space> zset, job:<job>, doc:<doc> hashes.
-- Wakes: nobody.
-- Bound: JOBS_SHOWN jobs.
-- Lane: read.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
-- Replies: replay | ok/n, then n times 8 lines: job, doc, status, stage, progress, error (JSON or ''), updated (ms),
--   filename (JSON); the finished ones first, then as they were last heard of
local jobs = require('documents/jobs')
local watchers = require('documents/watchers')
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat
local JOBS_SHOWN = jobs.JOBS_SHOWN

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    watchers.add(turn, space)
    local key, text = P .. 'recent_jobs:' .. space, {'ok', ''}
    call('ZREMRANGEBYSCORE', key, '-inf', turn.now_text)
    local n = 0
    for _, job in ipairs(call('ZRANGE', key, 0, JOBS_SHOWN - 1)) do
        bounds.note_read(turn, 2, 0)
        local got = call('HMGET', P .. 'job:' .. job, 'doc', 'status', 'stage', 'progress', 'error', 'updated')
        local filename = got[1] and call('HGET', P .. 'doc:' .. got[1], 'filename')
        if filename then
            n = n + 1
            text[#text + 1] = job .. '\n' .. concat(got, '\n') .. '\n' .. filename
        end
    end
    text[2] = n
    return concat(text, '\n')
end

return {watch_indexing = verb}
