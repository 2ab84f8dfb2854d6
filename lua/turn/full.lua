-- full: what runs while Redis is at its maxmemory. An ordinary function is refused whole then, reads included
-- (OOM), so the library has a second one with the flag allow-oom: the node sends it a turn that was refused
-- with OOM, and here each verb that would make Redis fuller is answered with an error of its own, STOREFULL.
-- The rest of the turn runs as always: order, nonces, events.
--
-- Each verb says in its header whether it runs then (`Full: runs.` or `Full: refused.`); the line `runs_when_full`
-- below stands for the table of those that do. Nothing else bounds what is written here, so each of them
--   - frees memory;
--   - ends, keeps or gives back what an engine or an indexer holds;
--   - reads (a look at a query or at jobs writes the node down as waiting, a limit counts the request: both are
--     bounded and end by themselves);
--   - or decides who gets in, or is what operators need to mend it.
-- The one that may grow is `complete`: an answer of up to 1 MiB for a query that an
-- engine has claimed already; without it the work of all engines would be lost. The nonces of a turn are
-- recorded here as well, those of refused verbs too, or requests could be replayed: some 50 bytes each, for
-- two days. Leave Redis that room below what the machine has.
local frame = require('turn/frame')

--- runs_when_full

local function run_when_full(turn, verb, first)
    if RUNS_WHEN_FULL[verb] then return frame.run_verb(turn, verb, first) end
    return {err = 'STOREFULL ' .. tostring(verb)}
end

local function run(keys, argv)
    return frame.run(keys, argv, run_when_full)
end

return {run = run}
