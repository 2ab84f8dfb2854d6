-- polls: gives an engine's poll the next claim, or parks it as a credit of its node and class.
local claims = require('queue/claims')
local idle = require('queue/idle')
local presence = require('queue/presence')

-- The claim whose turn it is, for a poll of that class; nil when there is none.
local function next_claim(turn, entry)
    local scans_before = turn.scans
    local text = claims.next_claim(turn, entry)
    turn.scans = scans_before -- it was asked for; what this turn hands over unasked is counted alone
    return text
end

-- `engine`: which of its account, '' when it does not name itself; `poll`: '0' for one that does not wait. Returns
-- what queue/claim.lua replies; a claim in parts (turn/parts.lua).
local function claim(turn, class, is_parking, engine, poll)
    if turn.is_full then return 'empty' end -- within a verb that runs all the same
    local entry = idle.own_entry(turn, class)
    if engine ~= '' and entry.account then presence.note_poll(turn, entry.account, engine, poll) end
    local text = next_claim(turn, entry)
    if text then return text end
    if not is_parking then return 'empty' end
    idle.grant(entry)
    return 'parked'
end

return {next_claim = next_claim, claim = claim}
