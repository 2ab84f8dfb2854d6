-- polls: gives an engine's poll the next claim, or parks it as a credit of its node and class. After CLAIMS_BYTES of
-- claims a turn gives nothing more: many engines that return to a long queue at once would stop Redis for all others.
-- The event `rescan` then asks the node for its next sync, which goes on (queue/sync.lua).
local claims = require('queue/claims')
local idle = require('queue/idle')
local presence = require('queue/presence')
local bounds = require('turn/bounds')
local events = require('turn/events')
local parts = require('turn/parts')

local CLAIMS_BYTES = bounds.LOOK_BYTES

-- Once a turn.
local function ask_for_rescan(turn)
    if not turn.has_asked_for_rescan then events.send(turn, turn.node, 'rescan') end
    turn.has_asked_for_rescan = true
end

-- The claim whose turn it is, for a poll of that class; nil when there is none, or no room for it in this call.
local function next_claim(turn, entry, is_waiting)
    if turn.claimed_bytes >= CLAIMS_BYTES then
        if is_waiting then ask_for_rescan(turn) end
        return nil
    end
    local looks_before = turn.looks
    local text = claims.next_claim(turn, entry)
    turn.looks = looks_before -- it was asked for; what this turn hands over unasked is counted alone
    if text then turn.claimed_bytes = turn.claimed_bytes + parts.bytes_of(text) end
    return text
end

-- `engine`: which of its account, '' when it does not name itself; `poll`: '0' for one that does not wait. Returns
-- what queue/claim.lua replies; a claim in parts (turn/parts.lua).
local function claim(turn, class, is_parking, engine, poll)
    if turn.is_full then return 'empty' end -- within a verb that runs all the same
    local entry = idle.own_entry(turn, class)
    if engine ~= '' and entry.account then presence.note_poll(turn, entry.account, engine, poll) end
    local text = next_claim(turn, entry, is_parking)
    if text then return text end
    if not is_parking then return 'empty' end
    idle.grant(entry)
    return 'parked'
end

return {next_claim = next_claim, claim = claim, ask_for_rescan = ask_for_rescan}
