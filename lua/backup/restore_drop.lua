-- restore_drop: drops the restored part of a topic that was deleted or replaced while the backup read it.
-- KEYS: as delete.
-- Wakes: nobody.
-- Bound: one topic; nobody else uses a Redis that is being restored.
-- Lane: add.  Home: topic.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic  name
-- Replies: ok
local restored = require('backup/restored')

local function verb(turn, a)
    --- arguments
    restored.drop(turn, topic)
    return 'ok'
end

return {restore_drop = verb}
