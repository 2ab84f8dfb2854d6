-- user_topics: a user's topics, the newest last, each with its first query or its new name.
-- KEYS: topics:<user> zset, names:<user> hash, t:<topic>.  ARGV: nonce, user.
-- Returns: replay | ok, then per topic its name and its text (JSON).  The newest TOPICS_MAX.
-- Wakes: nobody.  Repeatable: yes.
local TOPICS_MAX = 10000

verbs.user_topics = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local user = args[a + 1]
    local text = {'ok'}
    local renamed = call('EXISTS', P .. 'names:' .. user) == 1
    for _, topic in ipairs(call('ZRANGE', P .. 'topics:' .. user, -TOPICS_MAX, -1)) do
        local name = renamed and call('HGET', P .. 'names:' .. user, topic)
        if not name then
            local row = call('HGET', P .. 't:' .. topic, 'q:1')
            name = row and match(row, '([^\n]*)$')
        end
        if name then
            text[#text + 1] = topic
            text[#text + 1] = name
        end
    end
    return concat(text, '\n')
end
