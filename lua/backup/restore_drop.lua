-- restore_drop: a topic that was deleted, or became another one, while it was being read: what was restored of
-- it is dropped.
-- KEYS: as delete.
-- Wakes: nobody.
-- Bound: one topic; nobody else uses a Redis that is being restored.
-- Lane: add.  Home: topic.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic  name
-- Replies: ok
local function drop_restored(topic)
    for _, field in ipairs(call('HKEYS', P .. 't:' .. topic)) do
        local user = match(field, '^u:(.*)$')
        if user then
            call('ZREM', P .. 'topics:' .. user, topic)
            call('HDEL', P .. 'names:' .. user, topic)
            if call('EXISTS', P .. 'topics:' .. user) == 0 then call('SREM', P .. 'users', user) end
        end
    end
    -- The lookups stay for topics that are still to come.
    for _, field in ipairs(call('HKEYS', P .. 'lookups:' .. topic)) do
        call('HINCRBY', P .. 'lookup:' .. match(field, '^%d+ (%x+)$'), 'refs', -1)
    end
    call('DEL', P .. 'lookups:' .. topic)
    drop_ask(topic)
end

verbs.restore_drop = function(a)
    --- arguments
    drop_restored(topic)
    return 'ok'
end
