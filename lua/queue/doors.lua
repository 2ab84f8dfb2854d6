-- doors: who gets the answer to a query of a door (queue/door_ask.lua), and requests that are sent again. The field
-- x:<seq> of its topic is "<node> <asker> <first asker>": the node whose client waits for it, or `-` once that client
-- has gone; a name of that request; and of the request that made it. The set again:<digest> has the queries of equal
-- requests, "<topic> <seq>": an equal one takes over a query whose client has gone.
-- What is due has a member in the zset `asks`: the topic, or of a topic that is kept "<topic> <seq>".
local budgets = require('account/budgets')
local asks = require('queue/asks')
local idle = require('queue/idle')
local waiters = require('queue/waiters')
local bounds = require('turn/bounds')
local call = redis.call
local byte, match = string.byte, string.match

local AGAIN_MAX = 16 -- equal requests at a time; of more, those that came later are never taken over

local KNOWN_MS = 3600000

-- `other`: the same model for an Api that would be better; '': none.
-- With several shards an engine may be at work for another one, and then this shard does not know that it is there.
local function refusal_of(turn, model, other)
    if other ~= '' and idle.has_engine(turn, other) then return 'other' end
    local is_there, age = idle.has_engine(turn, model)
    if is_there then return nil end
    if not age or age >= KNOWN_MS then return 'no_model' end
    return not turn.is_sharded and 'no_engine' or nil
end

local function key_of(turn, digest)
    return turn.prefix .. 'again:' .. digest
end

local function member_of(topic, seq, is_kept)
    return is_kept and topic .. ' ' .. seq or topic
end

-- The field x:<seq>.
local function watcher(node, asker, first)
    return node .. ' ' .. asker .. ' ' .. first
end

local function parse_watcher(text)
    return match(text or '', '^(%S+) (%S+) (%S+)$')
end

-- The request of this node that the account's budgets count until the query ends (account/budgets.lua).
local function set_grant(turn, topic, seq, grant)
    if grant ~= '' then call('HSET', turn.prefix .. 't:' .. topic, 'g:' .. seq, turn.node .. ' ' .. grant) end
end

-- Notes a query that was made.
local function note(turn, digest, topic, seq, is_kept, grant)
    local key = key_of(turn, digest)
    set_grant(turn, topic, seq, grant)
    asks.hold_until(turn, member_of(topic, seq, is_kept), asks.ASK_MAX_MS)
    if call('SCARD', key) >= AGAIN_MAX then return end
    call('SADD', key, topic .. ' ' .. seq)
    call('PEXPIRE', key, asks.ASK_MAX_MS)
end

local function forget(turn, digest, topic, seq)
    call('SREM', key_of(turn, digest), topic .. ' ' .. seq)
end

-- The query whose answer `asker` gets, of a call whose reply its node has not seen: its topic and Seq, or nil.
local function query_of(turn, digest, asker)
    local list = call('SMEMBERS', key_of(turn, digest))
    bounds.note_read(turn, #list, 0)
    for _, member in ipairs(list) do
        local topic, seq = match(member, '^(%S+) (%d+)$')
        local _, by = parse_watcher(call('HGET', turn.prefix .. 't:' .. topic, 'x:' .. seq))
        if by == asker then return topic, seq end
    end
    return nil
end

-- The query is charged to the request that took it over, and that of the client that has gone (`before`, if it was
-- counted) is no longer at work.
local function move_grant(turn, topic, seq, account, before, grant)
    if grant == '' or before == turn.node .. ' ' .. grant then return end
    set_grant(turn, topic, seq, grant)
    if before then budgets.charge_anywhere(turn, account, before, 0) end
end

-- Takes over a query of an equal request whose client has gone, for `asker`, or finds the one that this request has
-- already. Equal requests are of one account. Returns the reply, or nil.
local function take_over(turn, digest, asker, account, is_kept, grant)
    local list = call('SMEMBERS', key_of(turn, digest))
    bounds.note_read(turn, #list, 0)
    for _, member in ipairs(list) do
        local topic, seq = match(member, '^(%S+) (%d+)$')
        local key = turn.prefix .. 't:' .. topic
        local got = call('HMGET', key, 's:' .. seq, 'x:' .. seq, 'w:' .. seq, 'g:' .. seq)
        local node, by, first = parse_watcher(got[2])
        local state = got[1] and byte(got[1])
        if not node or state == 70 or state == 67 then
            forget(turn, digest, topic, seq)
        elseif by == asker and first == asker then
            return 'ok\n' .. topic .. '\n' .. seq
        elseif by == asker or node == '-' or (node ~= turn.node and not idle.is_alive(turn, node)) then
            call('HSET', key, 'x:' .. seq, watcher(turn.node, asker, first))
            asks.hold_until(turn, member_of(topic, seq, is_kept), asks.ASK_MAX_MS)
            if state ~= 68 then
                waiters.add(turn, topic, seq, got[3])
                move_grant(turn, topic, seq, account, got[4], grant)
            end
            return 'attached\n' .. topic .. '\n' .. seq .. '\n' .. first .. '\n' .. (state == 68 and 'done' or 'runs')
        end
    end
    return nil
end

return {
    refusal_of = refusal_of, member_of = member_of, watcher = watcher, parse_watcher = parse_watcher, note = note,
    forget = forget, query_of = query_of, take_over = take_over, set_grant = set_grant,
}
