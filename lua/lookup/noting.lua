-- noting: the bytes that a lookup counts for the user of its query (queue/stored.lua): those of its fragment, in each
--   topic that needs it. They are returned when the topic is deleted.
local stored = require('queue/stored')
local call = redis.call

-- `record`: the topic's field `stored`. Returns what refuses it. Without a limit a topic that is not counted stays so.
local function count(turn, topic, row, record, bytes, most, most_of_user)
    if not record and not most then return nil end
    local key = turn.prefix .. 't:' .. topic
    local counted, refusal = stored.move_of_row(turn, key, record, row, bytes, most, most_of_user)
    if counted then call('HSET', key, 'stored', counted) end
    return refusal
end

return {count = count}
