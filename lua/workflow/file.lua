-- workflow_file: returns the text of a workflow file that runs began with.
-- KEYS: wf_file:<version>.
-- Wakes: nobody.
-- Bound: one file, 512 KiB.
-- Lane: read.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session  name  of a run with that version: its shard has it
--   version  name
-- Replies: missing | ok/text
local call = redis.call

local function verb(turn, a)
    --- arguments
    local text = call('HGET', turn.prefix .. 'wf_file:' .. version, 'text')
    if not text then return 'missing' end
    return {'ok\n', text}
end

return {workflow_file = verb}
