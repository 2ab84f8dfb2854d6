-- presence: which engines are there, from their polls (poll:<account>:<engine>) and what nodes wrote into the hash
-- `engines`.
local idle = require('queue/idle')
local events = require('turn/events')
local call = redis.call
local format, match = string.format, string.match
local sort = table.sort
local ceil, min = math.ceil, math.min

local AWAY = 'away' -- what poll:<account>:<engine> holds of one that has left or rests
local POLL_S = 300      -- no poll is parked longer
local ENGINES_MAX, ENGINE_GONE_MS = 1000, 86400000
local ENGINE_SEEN_MS = 600000  -- since its poll began, which may be parked or have brought a long claim since
local REST_SHORT_MS = 15000     -- a question outlasts such a rest

-- Is an engine there? '': one polls, is at work, or rests only for a moment. 'maybe': one was seen lately, and may
-- be between two polls. nil: none; and the seconds until the first one has rested, if any does.
local function engines_there(turn)
    local P = turn.prefix
    if idle.has_credit(turn) or turn.leases_begun then return '' end
    if call('EXISTS', P .. 'idle', P .. 'leases') > 0 then return '' end
    local found, first
    for _, info in ipairs(call('HVALS', P .. 'engines')) do
        local rests_until = tonumber(match(info, '^%d+ {"RestingUntilMs":(%d+)'))
        local seen = rests_until or tonumber(match(info, '^%d+'))
        if seen > turn.now_ms + REST_SHORT_MS then
            first = min(first or seen, seen)
        elseif seen > turn.now_ms then
            return ''
        elseif seen > turn.now_ms - ENGINE_SEEN_MS then
            found = 'maybe'
        end
    end
    return found, first and ceil((first - turn.now_ms) / 1000)
end

local function no_engine(seconds, tag)
    tag = tag or 'no_engine'
    return seconds and tag .. '\n' .. format('%d', seconds) or tag
end

-- Ends a poll as poll:<account>:<engine> holds it, if that is one.
local function end_poll(turn, poll, account, engine)
    if not poll or poll == AWAY then return end
    local at, number = match(poll, '^(%S+) (%S+)$')
    events.send(turn, at, 'supersede\n' .. account .. '\n' .. engine .. '\n' .. number)
end

-- An engine that names itself has one poll: its newer one ends the older, on any node, this one too (the older one may
-- be of another class). `poll`: '0' for one that does not wait; it ends nothing but the engine's rest.
local function note_poll(turn, account, engine, poll)
    local key = turn.prefix .. 'poll:' .. account .. ':' .. engine
    if poll == '0' then
        if call('GET', key) == AWAY then call('DEL', key) end
        return
    end
    local newer = turn.node .. ' ' .. poll
    local older = call('SET', key, newer, 'GET', 'EX', POLL_S)
    if older ~= newer then end_poll(turn, older, account, engine) end
end

-- Engines choose their names: of those not seen for a day none is kept, of all others the newest. When they are
-- too many, those of an account with more than half of them go first: none pushes out the engines of others.
local function forget_engines(turn)
    local P = turn.prefix
    local all, seen, of_account = call('HGETALL', P .. 'engines'), {}, {}
    for i = 1, #all, 2 do
        local one = {at = tonumber(match(all[i + 1], '^%d+')), name = all[i], account = match(all[i], '^%S+')}
        if one.at > turn.now_ms - ENGINE_GONE_MS then
            seen[#seen + 1] = one
            of_account[one.account] = (of_account[one.account] or 0) + 1
        else
            call('HDEL', P .. 'engines', one.name)
        end
    end
    local over = #seen - ENGINES_MAX
    if over <= 0 then return end
    sort(seen, function(x, y) return x.at < y.at or (x.at == y.at and x.name > y.name) end)
    for _, at_most in ipairs({ENGINES_MAX / 2, 0}) do
        for i = 1, #seen do
            local one = seen[i]
            if over > 0 and not one.is_gone and of_account[one.account] > at_most then
                call('HDEL', P .. 'engines', one.name)
                one.is_gone, over, of_account[one.account] = true, over - 1, of_account[one.account] - 1
            end
        end
    end
end

return {
    AWAY = AWAY, engines_there = engines_there, no_engine = no_engine, end_poll = end_poll,
    note_poll = note_poll, forget_engines = forget_engines,
}
