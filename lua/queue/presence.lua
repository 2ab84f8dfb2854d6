-- presence: the available engines, from their polls (poll:<account>:<engine>) and the hash `engines` that nodes write.
local idle = require('queue/idle')
local newest = require('queue/newest')
local events = require('turn/events')
local instants = require('turn/instants')
local call = redis.call
local format, match = string.format, string.match
local ceil, min = math.ceil, math.min

local AWAY = 'away' -- what poll:<account>:<engine> holds of one that has left or rests
local POLL_S = 300      -- no poll is parked longer
local ENGINE_SEEN_MS = 600000  -- since its poll began, which may be parked or have brought a long claim since
local REST_SHORT_MS = 15000     -- a question outlasts such a rest
local BACK_MS = 30000           -- an engine that has rested takes so long to poll again

-- For how long an engine rests from now on (ms; below 0: so long ago it ended); nil when it does not. No longer than it
-- said, if the clock went back since.
local function rest_of(turn, info)
    local at, rests_until = match(info, '^(%d+) {"RestingUntilMs":(%d+)')
    return rests_until and min(rests_until - turn.now_ms, rests_until - at)
end

-- Returns the state of an engine, as the hash `engines` has it: `waiting` for a claim, `working` or `resting`; nil when
-- it has gone. A node says with each state how long it may last without another word (shared/queue/engines.c).
local function state_of(turn, info)
    local rest_ms = rest_of(turn, info)
    if rest_ms then return rest_ms > -BACK_MS and 'resting' or nil end
    local at, state, for_ms = match(info, '^(%d+) {"Models":"[^"]*","State":"(%l+)","ForMs":(%d+)')
    return at and instants.is_near(turn, at, tonumber(for_ms)) and state or nil
end

-- Is an engine there? '': one polls, is at work, was seen within so many ms, or rests only for a moment. 'maybe': one
-- was seen recently, and may be between two polls. nil: none; and the seconds until the first one has rested, if any
-- does.
local function engines_there(turn, within_ms)
    local P = turn.prefix
    if idle.has_credit(turn) or turn.leases_begun then return '' end
    if call('EXISTS', P .. 'idle', P .. 'leases') > 0 then return '' end
    local found, first
    for _, info in ipairs(call('HVALS', P .. 'engines')) do
        local rest_ms = rest_of(turn, info)
        if rest_ms and rest_ms > REST_SHORT_MS then
            first = min(first or rest_ms, rest_ms)
        elseif rest_ms and rest_ms > 0 then
            return ''
        else
            local seen = rest_ms and turn.now_ms + rest_ms or match(info, '^%d+')
            if within_ms and not rest_ms and instants.is_near(turn, seen, within_ms) then return '' end
            if instants.is_near(turn, seen, ENGINE_SEEN_MS) then found = 'maybe' end
        end
    end
    return found, first and ceil(first / 1000)
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

local function account_of(name) return match(name, '^%S+') end

local function forget_engines(turn)
    newest.keep(turn, 'engines', account_of)
end

return {
    AWAY = AWAY, state_of = state_of, engines_there = engines_there, no_engine = no_engine, end_poll = end_poll,
    note_poll = note_poll, forget_engines = forget_engines,
}
