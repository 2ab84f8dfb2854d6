-- full: what runs while Redis is at its maxmemory. An ordinary function is refused whole then, reads included
-- (OOM), so the library has a second one with the flag allow-oom: the node sends it a turn that was refused
-- with OOM, and here each verb that would make Redis fuller is answered with an error of its own, STOREFULL.
-- The rest of the turn runs as always: order, nonces, events.
--
-- Nothing else bounds what is written here, so each verb below frees memory, only reads, or writes a few bytes
-- of something that exists. The one that may grow is `complete`: an answer of up to 1 MiB for a query that an
-- engine has claimed already; without it the work of all engines would be lost. The nonces of a turn are
-- recorded here as well, those of refused verbs too, or requests could be replayed: some 50 bytes each, for
-- two days. Leave Redis that room below what the machine has.
--
-- Every verb stands in exactly one of the two lists (tests/lint/lua_headers.pl).
local turn_freeing
do
local RUNS_WHEN_FULL = {
    -- Frees.
    cancel = true, delete = true, doc_delete = true, purge = true, sweep = true, sweep_asks = true,
    ask_leave = true, unpark = true, unwatch_indexing = true,
    -- Engines and indexers finish, keep or give back what they hold.
    complete = true, release = true, extend = true, delivered = true, give_back = true, reap = true, sync = true,
    away = true, job_progress = true, job_release = true, job_pass = true, job_fail = true,
    -- Reads. A look at a query or at jobs writes the node down as waiting, a limit counts the request: both
    -- are bounded and end by themselves.
    check = true, partials = true, thread = true, user_topics = true, list_lookups = true, recommendations = true,
    engines = true, list = true, status = true, docs = true, doc = true, chunk = true, passages = true, packs = true,
    vectors = true, search = true, admit = true, job_text = true, job_upload = true, job_waiting = true,
    watch_indexing = true, watch_indexing_again = true,
    -- Who gets in, and what operators need to mend it.
    nonce = true, failure = true, key = true, drain = true,
}
-- REFUSED: add ask claim supersede partial retry rename
-- REFUSED: add_lookup claim_lookup match recommend
-- REFUSED: upload doc_reindex job_begin job_steal job_parsed job_vectors job_store
-- REFUSED: restore_begin restore_document restore_drop restore_key restore_lookup restore_topic restore_unneeded
-- REFUSED: restore_vectors

local function run_when_full(verb, first)
    if RUNS_WHEN_FULL[verb] then return run(verb, first) end
    return {err = 'STOREFULL ' .. tostring(verb)}
end

turn_freeing = function(keys, argv)
    return turn(keys, argv, run_when_full)
end
end
