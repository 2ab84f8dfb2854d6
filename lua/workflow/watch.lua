-- workflow_watch: registers this node as a watcher of a session for 60 s and returns the frames of one of its runs that
-- a client has missed. Both happen in one atomic step, so no frame is lost in between. The event of a later frame may
-- arrive before this reply.
-- KEYS: wf:<session>, wfr:<session>.<run>, wff:<session>.<run>, wfw:<session>.
-- Wakes: nobody.
-- Bound: PAGE_BYTES, but one frame at least; reads 8 frames more than it returns at most.
-- Lane: slow.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session     name
--   request_id  name
--   since       number  seq of the last frame that the client has; 0: none
-- Replies: missing | ok/run/status/seq (of the last frame)/is_more (1: call again since the last frame of this page),
--   then the frames after `since` (JSON), a line each
local runs = require('workflow/runs')
local watching = require('workflow/watching')
local call = redis.call
local format = string.format
local concat = table.concat
local floor, max, min = math.floor, math.max, math.min

local PAGE_BYTES, AT_ONCE = 524288, 8

local function verb(turn, a)
    --- arguments
    local run = runs.run_of(turn, session, request_id)
    local r = run and runs.read(turn, session, run, 'seq')
    if not r then return 'missing' end
    watching.add(turn, session)
    local key, parts, bytes = turn.prefix .. 'wff:' .. r.id, {''}, 0
    local at, last, n = since, tonumber(r.seq), 1
    while at < last and bytes < PAGE_BYTES do
        local frames = call('LRANGE', key, format('%d', at), format('%d', at + n - 1))
        if #frames == 0 then break end
        for i = 1, #frames do
            if bytes >= PAGE_BYTES then break end
            parts[#parts + 1] = '\n'
            parts[#parts + 1] = frames[i]
            at, bytes = at + 1, bytes + #frames[i]
        end
        -- As many as fit if they are as long as the former ones.
        n = max(1, min(AT_ONCE, floor((PAGE_BYTES - bytes) * (at - since) / bytes)))
    end
    parts[1] = concat({'ok', run, r.status, r.seq, at < last and 1 or 0}, '\n')
    return parts
end

return {workflow_watch = verb}
