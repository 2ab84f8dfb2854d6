-- supersede: an engine that names itself has one poll; its newer one ends the older, on any node.
-- KEYS: polls hash ("<account> <engine>" -> "<node> <poll>").  ARGV: account, engine, poll.
-- Returns: ok.  Wakes: the node that holds the older poll.  Repeatable: yes.
verbs.supersede = function(a)
    local who = args[a] .. ' ' .. args[a + 1]
    local older = call('HGET', P .. 'polls', who)
    if older then
        local at, poll = match(older, '^(%S+) (%S+)$')
        send_event(at, 'supersede\n' .. args[a] .. '\n' .. args[a + 1] .. '\n' .. poll)
    end
    call('HSET', P .. 'polls', who, node .. ' ' .. args[a + 2])
    return 'ok'
end
