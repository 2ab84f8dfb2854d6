-- audit_note: puts an entry into the audit log. Several nodes notice the same change of the accounts file: only the
-- first one's entry is kept, for two minutes.
-- KEYS: audit:<class> stream, audit_once:<once> string.
-- Wakes: nobody.
-- Bound: one entry of 4 KiB; of each class as many as lua/audit/audit.lua says, for 90 days.
-- Lane: read.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: with once.
-- Arguments:
--   class  words account|operator|deletion
--   once   name?    names a change that several nodes notice
--   row    json 4k
-- Replies: ok | known
local audit = require('audit/audit')
local call = redis.call

local ONCE_MS = 120000

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 'audit_once:' .. once
    if once ~= '' and not call('SET', key, '1', 'NX', 'PX', ONCE_MS) then return 'known' end
    audit.note(turn, class, row, '')
    return 'ok'
end

return {audit_note = verb}
