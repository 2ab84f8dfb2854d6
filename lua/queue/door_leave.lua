-- door_leave: the client of a request of a door has gone, or has its whole answer. An equal request may take over a
--   query whose client has gone (queue/doors.lua): one that has not ended for 2 s, after which it is cancelled; an
--   answer for a minute. Of a topic that is kept the query stays.
-- Stops this race: an equal request has taken the query over (another asker is noted), and nothing happens.
-- KEYS: t:<topic>, again:<digest>, asks; as delete and cancel.
-- Wakes: nodes that wait for a query that ends.
-- Bound: one query; AGAIN_MAX equal ones.
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic    name            as the reply said, or the call if there was none
--   seq      digits
--   asker    name
--   digest   name
--   is_kept  flag
--   how      words left|over|served  left: its client has gone. over: it has for 2 s
-- Replies: ok
local asks = require('queue/asks')
local doors = require('queue/doors')
local call = redis.call
local byte = string.byte

local LEFT_MS, ENDED_MS = 2000, 60000

local function read(turn, topic, seq)
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 's:' .. seq, 'x:' .. seq)
    return got[1], doors.parse_watcher(got[2])
end

local function verb(turn, a)
    --- arguments
    local state, _, by, first = read(turn, topic, seq)
    if by ~= asker then
        topic, seq = doors.query_of(turn, digest, asker)
        if not topic then return 'ok' end
        state, _, _, first = read(turn, topic, seq)
    end
    local key = turn.prefix .. 't:' .. topic
    local letter = state and byte(state)
    local has_ended, is_done = letter and letter ~= 80, letter == 68
    local member = doors.member_of(topic, seq, is_kept)
    if is_done and how ~= 'served' then
        call('HSET', key, 'x:' .. seq, doors.watcher('-', asker, first))
        asks.hold_until(turn, member, ENDED_MS)
    elseif how == 'left' and not has_ended then
        call('HSET', key, 'x:' .. seq, doors.watcher('-', asker, first))
        asks.hold_until(turn, member, LEFT_MS)
    else
        doors.forget(turn, digest, topic, seq)
        if is_kept or not has_ended then
            asks.drop_ask(turn, member)
        else
            call('HDEL', key, 'x:' .. seq)
            asks.hold_until(turn, member, ENDED_MS)
        end
    end
    return 'ok'
end

return {door_leave = verb}
