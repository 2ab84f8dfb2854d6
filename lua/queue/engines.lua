-- engines: is an engine there now? What `ask` answered with `maybe` is asked again a moment later: an engine that
-- was between two polls has come back by then, one that hung up has not.
-- KEYS: idle, leases, engines.
-- Wakes: nobody.
-- Bound: ENGINES_MAX engines.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: there | no_engine[/seconds until the first one has rested]
verbs.engines = function(a)
    local there, seconds = engines_there()
    return there == '' and 'there' or no_engine(seconds)
end
