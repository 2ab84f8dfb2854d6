-- users: the set `users` of all who have a tie to a topic, which topic/purge.lua walks through. A turn adds its new
-- ones with one command at its end.
local bounds = require('turn/bounds')
local call = redis.call

-- A user has a tie to one more topic.
local function note(turn, user)
    local noted = turn.users_noted or {}
    turn.users_noted = noted
    noted[user] = true
end

-- A user has no part in any topic.
local function forget(turn, user)
    if turn.users_noted then turn.users_noted[user] = nil end
    call('SREM', turn.prefix .. 'users', user)
end

local function flush(turn)
    local noted = turn.users_noted
    if not noted then return end
    local users = {}
    for user in pairs(noted) do users[#users + 1] = user end
    bounds.in_parts(users, function(...) call('SADD', turn.prefix .. 'users', ...) end)
end

return {note = note, forget = forget, flush = flush}
