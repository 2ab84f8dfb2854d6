-- delete_user: deletes what is stored for a user, a bounded part per call. Called until it answers 0.
-- A topic is deleted with its last tie. In a topic shared with other users, this user's rows are blanked and its tie is
-- removed. When a call stops within a topic, deleting:<user> records where, and the next call continues from there.
-- Stops these races: an engine answers a query that is gone (it is missing, or cancelled where the row stays); an
--   indexer works on a document of the user (its job is lost); two calls delete the same user (each does a part).
-- KEYS: topics:<user>, names:<user>, users, deleting:<user>; of its topics as delete, lookups:<topic> and
--   lookup:<fingerprint>; recommendations, unrecommended, recommenders, recommenders:<account>,
--   recommended:<account>:<user>, judged:<account>:<user>; of its documents as doc_delete, recent_jobs:<space>,
--   job:<job>, trash; limit:<what>:<user>, limit:forget:<digest>; tokens:<user>; wf_of:<user> and of its runs as
--   workflow_delete; filers:<user> and of its files as file_delete, batchers:<user> and of its
--   batches all.
-- Wakes: nodes that wait for its queries, nodes that watch its documents.
-- Bound: ROWS_MAX rows, where a topic counts as 10, a document as 250, a file or batch as 50; ends with
--   the row that reaches SCAN_BYTES; what one step of delete takes more; RECOMMENDATIONS_N of an account, JOBS_SHOWN
--   jobs, TRASH_N vectors.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   user   name
--   space  name  of its documents
-- Replies: replay | ok/is_more (1: call again), then how many went, a line each: topics / parts in topics of others /
--   queries / lookups / recommendations / documents / jobs / limits / runs of workflows /
--   files / batches
local limiter = require('auth/limiter')
local elements = require('documents/elements')
local jobs = require('documents/jobs')
local batches = require('batches/batches')
local removal = require('documents/removal')
local files = require('files/files')
local run_removal = require('workflow/removal')
local recommended = require('lookup/recommended')
local leaving = require('topic/leave')
local blank = require('topic/blank')
local users = require('topic/users')
local bounds = require('turn/bounds')
local tokens = require('users/tokens')
local call = redis.call
local format, match, sub = string.format, string.match, string.sub
local concat = table.concat
local SCAN_BYTES = bounds.SCAN_BYTES

local ROWS_MAX, TOPIC_ROWS, DOC_ROWS = 5000, 10, 250
local RECOMMENDATIONS_N = 500
local FILES_N, FILE_ROWS = 20, 50
local LIMITS = {'upload', 'ask'}
local FORGET_N, FORGET_S = 3, 3600 -- deletions of a user that take its limits along, else they would be none
local PLACE_S = 3600

-- One step of the end of the user's tie to a topic. Returns where to continue in it, nil when that is over.
local function leave_topic(turn, user, topic, step, left, gone)
    local key = turn.prefix .. 't:' .. topic
    if call('HEXISTS', key, 'u:' .. user) == 0 then -- the topic is gone, by purge
        leaving.untie(turn, user, topic)
        return nil
    end
    local from = match(step, '^p(%d+)$')
    if not from then
        local lookup_n = call('HLEN', turn.prefix .. 'lookups:' .. topic)
        local how, next_step, rows = leaving.leave(turn, user, topic, step)
        left.rows, gone.queries = left.rows - rows, gone.queries + rows
        if how == 'more' then return next_step end
        if how == 'gone' then
            gone.topics, gone.lookups = gone.topics + 1, gone.lookups + lookup_n
            return nil
        end
        from = 1
    end
    local seq = blank.blank_rows(turn, user, topic, tonumber(from), left, gone)
    if seq then return 'p' .. format('%d', seq) end
    leaving.untie(turn, user, topic)
    gone.parts = gone.parts + 1
    return nil
end

local function leave_topics(turn, user, left, gone)
    local mine, place = turn.prefix .. 'topics:' .. user, turn.prefix .. 'deleting:' .. user
    local topic, step = match(call('GET', place) or '', '^(%S+) (%S+)$')
    while left.rows > 0 and left.bytes > 0 do
        if not topic then
            topic, step = call('ZRANGE', mine, 0, 0)[1], ''
            if not topic then return call('UNLINK', place, turn.prefix .. 'names:' .. user) end
        end
        left.rows = left.rows - TOPIC_ROWS
        step = leave_topic(turn, user, topic, step, left, gone)
        if not step then
            topic = nil
            call('DEL', place)
        end
    end
    if topic then call('SET', place, topic .. ' ' .. step, 'EX', PLACE_S) end
end

-- Jobs that are no document's latest any more: those of its former bytes.
local function drop_former_jobs(turn, space, gone)
    local P = turn.prefix
    for _, job in ipairs(call('ZRANGE', P .. 'recent_jobs:' .. space, 0, jobs.JOBS_SHOWN)) do
        local doc = call('HGET', P .. 'job:' .. job, 'doc')
        if not doc or call('HGET', P .. 'doc:' .. doc, 'job') ~= job then
            gone.jobs = gone.jobs + call('UNLINK', P .. 'job:' .. job)
        end
    end
end

local function drop_documents(turn, space, left, gone)
    local P = turn.prefix
    local key = P .. 'docs:' .. space
    if call('EXISTS', key) == 0 then return end
    drop_former_jobs(turn, space, gone)
    while left.rows > 0 do
        local doc = call('ZRANGE', key, 0, 0)[1]
        if not doc then return end
        local job = removal.remove(turn, space, doc)
        if job then gone.jobs = gone.jobs + call('UNLINK', P .. 'job:' .. job) end
        call('ZREM', key, doc)
        left.rows, gone.documents = left.rows - DOC_ROWS, gone.documents + 1
    end
end

local function drop_runs(turn, user, left, gone)
    local key = turn.prefix .. 'wf_of:' .. user
    while left.rows > 0 do
        local id = call('ZRANGE', key, 0, 0)[1]
        if not id then return end
        if run_removal.drop(turn, id, left) then
            call('ZREM', key, id)
            gone.runs = gone.runs + 1
        end
    end
end

-- Its files, or its batches, of whichever account: `owners` is a set of accounts.
local function drop_files(turn, user, owners, list_key, drop_id, left)
    local n = 0
    while left.rows > 0 do
        local account = call('SRANDMEMBER', turn.prefix .. owners .. user)
        if not account then return n end
        for _, id in ipairs(call('ZRANGE', list_key(turn, account, user), 0, FILES_N - 1)) do
            drop_id(turn, id, account, user)
            left.rows, n = left.rows - FILE_ROWS, n + 1
        end
    end
    return n
end

local function drop_limits(turn, user, gone)
    local keys = {}
    for i = 1, #LIMITS do keys[i] = turn.prefix .. 'limit:' .. LIMITS[i] .. ':' .. user end
    if call('EXISTS', unpack(keys)) == 0 then return end
    local forget = 'forget:' .. sub(redis.sha1hex(user), 1, 24) .. ':' .. FORGET_N .. ':' .. FORGET_S
    if not limiter.admit(turn, forget) then gone.limits = gone.limits + call('UNLINK', unpack(keys)) end
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local left = {rows = ROWS_MAX, bytes = SCAN_BYTES}
    local gone = {topics = 0, parts = 0, queries = 0, lookups = 0, recommendations = 0, documents = 0, jobs = 0,
        limits = 0, runs = 0, files = 0, batches = 0}
    leave_topics(turn, user, left, gone)
    if left.rows > 0 and left.bytes > 0 then
        gone.recommendations = recommended.drop_of(turn, user, RECOMMENDATIONS_N)
        left.rows = left.rows - gone.recommendations
        drop_documents(turn, space, left, gone)
        drop_runs(turn, user, left, gone)
        gone.batches = drop_files(turn, user, 'batchers:', batches.list_key, batches.drop_id, left)
        gone.files = drop_files(turn, user, 'filers:', files.list_key, files.drop_id, left)
    end
    bounds.note_read(turn, ROWS_MAX - left.rows, SCAN_BYTES - left.bytes)
    local is_more = left.rows <= 0 or left.bytes <= 0 or gone.recommendations > 0 or elements.sweep_space(turn, space)
        or call('EXISTS', P .. 'topics:' .. user, P .. 'docs:' .. space, P .. 'wf_of:' .. user, P .. 'filers:' .. user,
                P .. 'batchers:' .. user) > 0
    if not is_more then
        drop_limits(turn, user, gone)
        users.forget(turn, user)
        tokens.forget(turn, user)
    end
    return concat({
        'ok', is_more and 1 or 0, gone.topics, gone.parts, gone.queries, gone.lookups, gone.recommendations,
        gone.documents, gone.jobs, gone.limits, gone.runs, gone.files,
        gone.batches,
    }, '\n')
end

return {delete_user = verb}
