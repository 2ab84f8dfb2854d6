-- workflow_history: returns a page of the runs of a user, newest first, with their steps and answers.
-- KEYS: wf_of:<user>, wfr:<session>.<run>, wfs:<session>.<run>, wfa:<session>.<run>, wf:<session>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one run at least; RUNS_PAGE runs; SCAN_RUNS that are looked at, of one session SCAN_IDS ids.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user        name
--   account     name?     only its runs
--   session     name?     only that session's
--   request_id  name?     only the run that it leads to
--   final_status  text? 10  only those with that status
--   limit       number?   runs at most; RUNS_PAGE without
--   after       text? 600 cursor; from the newest on without
-- Replies: replay | ok/cursor of the next page ('' when there is none; a page may have no run and a cursor), then per
--   run 13 lines: its cursor, session, run, request id, session id, account, verb, version, status, began (ms), changed
--   (ms), steps (a JSON array), answers (a JSON array)
local arrays = require('workflow/arrays')
local newest = require('turn/newest')
local runs = require('workflow/runs')
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat
local min = math.min
local REPLY_BYTES = bounds.REPLY_BYTES

local RUNS_PAGE, SCAN_RUNS = 100, 1000
local COMMANDS = 2 -- for one that is looked at
local SCAN_IDS = 10000 -- of which those of other sessions are not read

local function verb(turn, a)
    --- arguments
    local P, parts, bytes, n = turn.prefix, {''}, 0, 0
    local most = min(limit or RUNS_PAGE, RUNS_PAGE)
    local function put(id, cursor)
        if n == most then return false end
        local of, run = runs.split(id)
        if session ~= '' and of ~= session then return true end
        bounds.note_read(turn, COMMANDS, 0)
        if request_id ~= '' and runs.run_of(turn, of, request_id) ~= run then return true end
        local r = runs.read(turn, of, run, 'request_id', 'session_id', 'verb', 'version', 'created', 'updated', 'log',
                            'approved')
        if not r or (account ~= '' and r.account ~= account) then return true end
        local status = runs.shown_status(r)
        if final_status ~= '' and status ~= final_status then return true end
        local more = r.log + 1024
        if n > 0 and bytes + more > REPLY_BYTES then return false end
        n, bytes = n + 1, bytes + more
        parts[#parts + 1] = concat({
            '', cursor, of, run, r.request_id, r.session_id, r.account, r.verb, r.version, status, r.created, r.updated,
            '',
        }, '\n')
        arrays.put(parts, call('LRANGE', P .. 'wfs:' .. id, 0, -1))
        parts[#parts + 1] = '\n'
        arrays.put(parts, call('LRANGE', P .. 'wfa:' .. id, 0, -1))
        return true
    end
    parts[1] = 'ok\n' .. newest.walk(turn, {'wf_of:' .. user}, after, session ~= '' and SCAN_IDS or SCAN_RUNS, put)
    return parts
end

return {workflow_history = verb}
