-- engines: checks again whether an engine is available for a question that `ask` answered with `maybe`. Called a moment
--   later: an engine that was between two polls has polled again by then, even if it is between two more polls, and one
--   that disconnected has not. A question that was claimed or has an outcome has had its engine. With several shards
--   all are asked, even if `ask` answered `unseen`; `maybe` then means to ask again.
-- KEYS: idle, leases, engines, t:<topic>.
-- Wakes: nobody.
-- Bound: ENGINES_MAX engines.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic   name?  of the question, whose Seq is 1
--   within  number an engine that was seen so recently (ms) is there; 0: only one that polls or works now
-- Replies: there | maybe[/seconds until the first one has rested] | no_engine[/the same]
local presence = require('queue/presence')
local call = redis.call

local function verb(turn, a)
    --- arguments
    if topic ~= '' and call('HEXISTS', turn.prefix .. 't:' .. topic, 's:1') == 1 then return 'there' end
    local there, seconds = presence.engines_there(turn, within)
    return there == '' and 'there' or presence.no_engine(seconds, there)
end

return {engines = verb}
