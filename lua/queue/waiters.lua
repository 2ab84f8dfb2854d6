-- waiters: the nodes that wait for a query, in the field w:<seq> of its topic.
local idle = require('queue/idle')
local events = require('turn/events')
local call = redis.call
local find, gmatch = string.find, string.gmatch
local concat = table.concat

local WAITING_BYTES = 2048 -- from there on nodes that are gone are left out

-- Writes this node down as waiting for a query. `waiting`: who does already.
local function add(turn, topic, seq, waiting)
    local key = turn.prefix .. 't:' .. topic
    if not waiting or waiting == '' then
        call('HSET', key, 'w:' .. seq, turn.node)
    elseif not find(' ' .. waiting .. ' ', ' ' .. turn.node .. ' ', 1, true) then
        if #waiting > WAITING_BYTES then
            local alive = {}
            for other in gmatch(waiting, '%S+') do
                if idle.is_alive(turn, other) then alive[#alive + 1] = other end
            end
            waiting = concat(alive, ' ')
        end
        call('HSET', key, 'w:' .. seq, waiting .. ' ' .. turn.node)
    end
end

local function notify(turn, topic, seq, waiting, event)
    if not waiting or waiting == '' then return end
    for to in gmatch(waiting, '%S+') do events.send(turn, to, event) end
end

return {add = add, notify = notify}
