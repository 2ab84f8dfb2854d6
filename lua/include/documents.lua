-- documents: what is stored of a document, and the life of the job that indexes it.
--
-- A document is a hash doc:<doc>; its bytes (upload:<doc>) stay until they are parsed, its text
-- (text:<doc>:<number>) for good, and the pack of its newest indexing (pack:<doc>:<generation>) is what
-- is searched. A generation is the lease of the job that made it, a text's number the lease of the job
-- that parsed it. While a document that is searched gets new bytes, its pack goes on pointing into the
-- text that it was made of: that one is kept as `old_text` until the next pack is in place.
--
-- A job is a hash job:<job>, and one entry of the stream `jobs` while it runs and while it is its space's next
-- one (include/job_queue.lua says where it waits before that):
--   QUEUED -> RUNNING (a lease, an attempt) -> DONE | FAILED; CANCELLED when its document goes or gets
--   other bytes. RUNNING -> QUEUED when it is released; RUNNING -> RUNNING with a new lease when
--   its indexer died and another one took its entry.
-- Each verb of a job names its lease. A new one is given with every begin, from the counter that only
-- rises, so an indexer that was given up for dead and comes back is told `lost` and changes nothing.

local DOCS_MAX = 10000        -- of a space
local JOB_ATTEMPTS = 3
local JOB_SHOWN_MS, JOBS_SHOWN = 3600000, 200
local UNFINISHED_MS = 1e12    -- unfinished jobs stand behind all finished ones in recent_jobs
local TRASH_MAX, TRASH_N = 1000, 100
-- What one element of a vector set takes besides its vector, which is an int8 per number: its name, its node
-- and its links. Redis's page on the memory of vector sets tells M * 2 + M * 0.33 pointers of links, with M = 16;
-- the whole was measured (used_memory of Redis 8.0: 815 to 837 for 4 to 1,024 numbers).
local ELEMENT_BYTES = 820

-- Some fields of a hash by name; those that are missing are nil.
local function fields(key, ...)
    local names, got, by_name = {...}, call('HMGET', key, ...), {}
    for i = 1, #names do by_name[names[i]] = got[i] or nil end
    return by_name
end

-- A document of that space with what all verbs need of it; nil for one of another space, too.
local function document_of(space, doc)
    local d = fields(P .. 'doc:' .. doc, 'space', 'filename', 'url', 'status', 'sha', 'path', 'job', 'generation',
                     'chunks', 'bytes', 'text', 'text_bytes', 'old_text', 'old_text_bytes', 'vectors', 'vectors_n',
                     'dimension')
    if d.space ~= space then return nil end
    d.key = P .. 'doc:' .. doc
    return d
end

-- Which vectors may be compared: those of one model and of one dimension. A digest of both, which the nodes
-- and indexers make too (shared/embed/embed.h). A document that states no dimension is of one that nobody asks for.
local function embedding_of(model, dimension)
    return redis.sha1hex(model .. ' ' .. (dimension or 0))
end

-- What a person sees of a document, 16 lines; nil when it is gone. `s`: model and dimension of its space.
local function document_lines(doc, s)
    local got = call('HMGET', P .. 'doc:' .. doc, 'filename', 'type', 'size', 'status', 'created', 'updated',
                     'chunks', 'path', 'job', 'model', 'dimension', 'generation')
    if not got[1] then return nil end
    local job = call('HMGET', P .. 'job:' .. got[9], 'status', 'stage', 'progress', 'error')
    for i = 1, 4 do job[i] = job[i] or '' end
    local is_old = got[12] ~= '0' and (got[10] ~= s.model or got[11] ~= s.dimension)
    return doc .. '\n' .. concat(got, '\n', 1, 9) .. '\n' .. concat(job, '\n') .. '\n' .. got[10] .. '\n'
        .. (is_old and 1 or 0)
end
local function embedding_of_space(space)
    return fields(P .. 'space:' .. space, 'model', 'dimension')
end

-- A string of any bytes in a reply that holds several.
local function part(bytes)
    return #bytes .. ':' .. bytes
end

-- The same onto a list that is joined at the end: Redis's Lua hashes every byte of every string that it
-- makes, so bytes that are joined step by step cost as much as often.
local function put_part(list, bytes)
    local n = #list
    list[n + 1], list[n + 2], list[n + 3] = #bytes, ':', bytes
end

-- --- bytes -----------------------------------------------------------------------------------

local function text_key(doc, number)
    return P .. 'text:' .. doc .. ':' .. number
end
local function pack_key(doc, generation)
    return P .. 'pack:' .. doc .. ':' .. generation
end

local function space_bytes(space)
    return tonumber(call('HGET', P .. 'space:' .. space, 'bytes')) or 0
end

-- Bytes of the text that no pack points into: they go when new ones come.
local function loose_text_bytes(d)
    if d.generation == '0' or d.old_text ~= '' then return tonumber(d.text_bytes) end
    return 0
end

-- A new text is to come: the present one goes, or stays as old_text while the pack needs it.
local function shelve_text(doc, d)
    if d.text == '' then return end
    if d.generation ~= '0' and d.old_text == '' then
        d.old_text, d.old_text_bytes = d.text, d.text_bytes
    else
        call('UNLINK', text_key(doc, d.text))
    end
    d.text, d.text_bytes = '', '0'
    call('HSET', d.key, 'text', '', 'text_bytes', 0, 'old_text', d.old_text, 'old_text_bytes', d.old_text_bytes)
end

-- What elements of a vector set take, as they count for their owner: an estimate, the same when they go.
local function elements_bytes(n, dimension)
    return n * ((dimension or 0) + ELEMENT_BYTES)
end

-- Recounts what is stored for a document, and with it for its space: after each change of it.
local function count_bytes(doc, space)
    local key = P .. 'doc:' .. doc
    local d = fields(key, 'bytes', 'generation', 'text_bytes', 'old_text_bytes', 'vectors_n', 'dimension')
    local bytes = d.text_bytes + d.old_text_bytes + call('STRLEN', P .. 'upload:' .. doc)
        + call('STRLEN', pack_key(doc, d.generation)) + elements_bytes(d.vectors_n, d.dimension)
    if bytes == tonumber(d.bytes) then return end
    call('HSET', key, 'bytes', format('%d', bytes))
    call('HINCRBY', P .. 'space:' .. space, 'bytes', format('%d', bytes - d.bytes))
end

-- What a search may find in that space has changed. The number comes from the counter that only rises,
-- so one of a space that was empty in between is a new one, too.
local function change_space(space)
    call('HSET', P .. 'space:' .. space, 'version', next_lease())
end

-- --- elements of vector sets -----------------------------------------------------------------

-- Takes `n` elements at most out of the vector sets. Returns how many.
local function sweep_elements(n)
    local left = n
    while left > 0 do
        local head = call('LINDEX', P .. 'trash', 0)
        if not head then break end
        local key, doc, generation, count = match(head, '^(%S+) (%S+) (%S+) (%d+)$')
        count = tonumber(count)
        if call('EXISTS', P .. key) == 0 then count = 0 end
        local rest = max(0, count - left)
        for chunk = count - 1, rest, -1 do
            call('VREM', P .. key, doc .. ':' .. generation .. ':' .. format('%d', chunk))
        end
        left = left - (count - rest)
        if rest == 0 then
            call('LPOP', P .. 'trash')
        else
            call('LSET', P .. 'trash', 0, key .. ' ' .. doc .. ' ' .. generation .. ' ' .. format('%d', rest))
        end
    end
    return n - left
end

-- The elements of one indexing are to go: to remove one costs too much to do all of them here.
local function trash_elements(space, digest, doc, generation, n)
    if not digest or digest == '' or not n or tonumber(n) == 0 then return end
    local length = call('RPUSH', P .. 'trash', 'vectors:' .. space .. ':' .. digest .. ' ' .. doc .. ' '
        .. generation .. ' ' .. n)
    if length > TRASH_MAX then sweep_elements(TRASH_N) end -- no indexer has done so for long
end

-- --- jobs ------------------------------------------------------------------------------------

-- Tells the nodes with somebody who watches that space.
local function tell_watchers(space, job, doc, what, stage, progress, message)
    local watchers = call('ZRANGEBYSCORE', P .. 'watchers:' .. space, '(' .. now_text, '+inf')
    for i = 1, #watchers do
        send_event(watchers[i], concat({'indexing', space, job, doc, what, stage, progress, message, now_text}, '\n'))
    end
end

-- The job stands among the space's recent ones: while it is unfinished, and for an hour after.
local function list_job(space, job, is_over)
    local key = P .. 'recent_jobs:' .. space
    call('ZADD', key, format('%d', now_ms + (is_over and JOB_SHOWN_MS or UNFINISHED_MS)), job)
    call('ZREMRANGEBYSCORE', key, '-inf', now_text)
    call('ZREMRANGEBYRANK', key, 0, -JOBS_SHOWN - 1)
end

local function start_job(space, doc, job, stage, is_reindex)
    call('HSET', P .. 'job:' .. job, 'doc', doc, 'space', space, 'status', 'QUEUED', 'stage', stage, 'progress', 0,
         'error', '', 'attempt', 0, 'lease', '', 'is_reindex', is_reindex and 1 or 0, 'created', now_text,
         'updated', now_text, 'entry', '', 'consumer', '', 'stolen', '', 'digest', '', 'vectors_n', 0)
    queue_job(space, job, now_text)
    list_job(space, job, false)
end

local function job_of(job)
    local j = fields(P .. 'job:' .. job, 'doc', 'space', 'status', 'stage', 'attempt', 'lease', 'is_reindex', 'entry',
                     'consumer', 'stolen', 'digest', 'vectors_n', 'created')
    j.id, j.key = job, P .. 'job:' .. job
    j.is_open = j.status == 'QUEUED' or j.status == 'RUNNING'
    return j
end

-- The job, if it runs under that lease; its entry is renewed with it, so nobody takes it over. Stops this
-- race: an indexer hangs, its job is begun by another one, and then it goes on.
local function held_job(job, lease)
    local j = job_of(job)
    if j.status ~= 'RUNNING' or j.lease ~= lease then return nil, j end
    call('XCLAIM', P .. 'jobs', GROUP, j.consumer, 0, j.entry, 'JUSTID')
    if j.stolen ~= '' then call('HSET', j.key, 'stolen', '') end
    return j
end

local function trash_job_elements(j)
    trash_elements(j.space, j.digest, j.doc, j.lease, j.vectors_n)
end

-- A job that runs is given back, the attempt not counted. Where it waits is the caller's: queue_job, or a zset.
local function take_back(j)
    trash_job_elements(j)
    drop_entry(j.entry)
    call('HSET', j.key, 'status', 'QUEUED', 'lease', '', 'attempt', format('%d', j.attempt - 1), 'progress', 0,
         'consumer', '', 'stolen', '', 'digest', '', 'vectors_n', 0, 'entry', '', 'updated', now_text)
    call('HSET', P .. 'doc:' .. j.doc, 'status', 'QUEUED', 'updated', now_text)
    list_job(j.space, j.id, false)
end

-- The job is over as DONE or FAILED. It stays as long as it is its document's latest.
local function end_job(j, status, stage, progress, problem)
    drop_entry(j.entry)
    call('HSET', j.key, 'status', status, 'stage', stage, 'progress', progress, 'error', problem, 'updated', now_text)
    list_job(j.space, j.id, true)
end

-- The document could not be indexed. What was searched before still is.
local function fail_job(j, problem)
    trash_job_elements(j)
    call('UNLINK', P .. 'upload:' .. j.doc)
    call('HSET', P .. 'doc:' .. j.doc, 'status', 'FAILED', 'updated', now_text)
    count_bytes(j.doc, j.space)
    local progress = call('HGET', j.key, 'progress')
    end_job(j, 'FAILED', j.stage, progress, problem)
    tell_watchers(j.space, j.id, j.doc, 'index_failed', j.stage, progress, problem)
end

-- A document's job is to be its latest no longer: an unfinished one is cancelled, and its indexer told
-- `lost`. It stays for an hour, for those who know its id.
local function retire_job(job, reason)
    local j = job_of(job)
    if j.is_open then
        drop_entry(j.entry)
        if j.status == 'QUEUED' then leave_queue(j.space, job) end
        trash_job_elements(j)
        call('HSET', j.key, 'status', 'CANCELLED', 'updated', now_text)
        call('ZREM', P .. 'recent_jobs:' .. j.space, job)
        tell_watchers(j.space, job, j.doc, 'index_failed', j.stage, call('HGET', j.key, 'progress'), reason)
    end
    call('PEXPIRE', j.key, JOB_SHOWN_MS)
end
