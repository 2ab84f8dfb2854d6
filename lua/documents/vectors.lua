-- vectors: where a new space's vectors can be kept in this Redis.
-- KEYS: none that is there.  ARGV: none.  Returns: set (it knows vector sets) | exact (it does not).
-- Wakes: nobody.  Repeatable: yes.
-- Bound: nothing is read.
verbs.vectors = function()
    return pcall(call, 'VCARD', P .. 'vectors:') and 'set' or 'exact'
end
