-- engines: is an engine there now? What `ask` answered with `maybe` is asked again a moment later: an engine that
-- was between two polls has come back by then, one that hung up has not.
-- KEYS: idle, leases, engines.  ARGV: none.
-- Returns: there | no_engine[/seconds until the first one has rested].
-- Wakes: nobody.  Repeatable: yes.
-- Bound: ENGINES_MAX engines.
verbs.engines = function(a)
    local there, seconds = engines_there()
    return there == '' and 'there' or no_engine(seconds)
end
