-- fence: writes a key, so that the connection that calls it has written after all turns that were answered before:
--   WAIT and WAITAOF answer for their own connection's writes only (shared/redis/fence.h).
-- KEYS: fence string (constant).
-- Wakes: nobody.
-- Bound: one small key.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: ok
local function verb(turn)
    redis.call('SET', turn.prefix .. 'fence', '1')
    return 'ok'
end

return {fence = verb}
