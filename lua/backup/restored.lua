-- restored: undoes the restore of a topic.
local asks = require('queue/asks')
local users = require('topic/users')
local call = redis.call
local match = string.match

local function drop(turn, topic)
    local P = turn.prefix
    for _, field in ipairs(call('HKEYS', P .. 't:' .. topic)) do
        local user = match(field, '^u:(.*)$')
        if user then
            call('ZREM', P .. 'topics:' .. user, topic)
            call('HDEL', P .. 'names:' .. user, topic)
            if call('EXISTS', P .. 'topics:' .. user) == 0 then users.forget(turn, user) end
        end
    end
    call('DEL', P .. 'lookups:' .. topic)
    asks.drop_ask(turn, topic)
end

return {drop = drop}
