-- sweep: what deleted and replaced documents left in vector sets goes, some elements a call.
-- KEYS: trash list, vectors:<space>:<digest> vector sets.  ARGV: n (elements at most).
-- Returns: how many were removed.  Wakes: nobody.  Repeatable: yes.
-- Bound: as many elements as its argument says.
verbs.sweep = function(a)
    return format('%d', sweep_elements(tonumber(args[a])))
end
