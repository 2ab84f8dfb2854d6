-- full: decides what runs while Redis is at maxmemory. Redis then refuses an ordinary function entirely, including
--   reads (OOM), so the library has a second one with the flag allow-oom. The node resends a turn that was refused with
--   OOM to it; here each verb that would need more memory gets the error STOREFULL. The rest of the turn runs as usual:
--   order, nonces, events.
--
-- Each verb says in its header whether it runs then (`Full: runs.` or `Full: refused.`); the line `runs_when_full`
-- below stands for the table of those that do. Nothing else limits what is written here, so each of them
--   - frees memory;
--   - ends, keeps or gives back what an engine or an indexer holds;
--   - reads (a look at a query or at jobs writes the node down as waiting, a limit counts the request: both are
--     bounded and end by themselves);
--   - or authenticates clients, or is needed by operators to fix the problem.
-- Six may grow. `complete` stores an answer of up to 1 MiB for a query that an engine has already claimed; without it
-- the work of all engines would be lost. `workflow_step` and `workflow_answer` carry on runs that have begun, each up
-- to 16 MiB in all; without them a person's answer would be lost. `delivery_reply` and `delivery_fail` end what a bot
-- was called with, in a room that drops old messages for new ones, and `evaluation_turn` carries on a run, up to 16 MiB
-- in all. `delivered` writes the keys of claims that were made before: 166 bytes each, until they end. The nonces of a
-- turn, including those of refused verbs, are recorded here as well, because otherwise requests could be replayed:
-- about 50 bytes each for two days. Set maxmemory that much below the machine's memory.
local frame = require('turn/frame')

--- runs_when_full

local function run(keys, argv)
    return frame.run(keys, argv, RUNS_WHEN_FULL)
end

return {run = run}
