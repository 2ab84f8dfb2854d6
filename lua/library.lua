-- library: every verb of Parley, loaded as one Redis function library by each node
-- (shared/redis/library.c puts the `#!lua` line and FUNCTION_NAME in front). One registered
-- function, `turn`, runs what one turn of a node's event loop asked for; see include/turn.lua. A second
-- one, `turn_freeing`, runs what may run while Redis is full; see include/full.lua.
-- While a library is loaded Redis gives it nothing but register_function: `turn` calls this first.
local call, tonumber, tostring, floor, max, min, ceil, match, gmatch, gsub, sub, byte, find, format, concat
local sort, pairs, ipairs, next, unpack, pcall, type, error, struct
local function begin_library()
    call, tonumber, tostring, pairs, ipairs, unpack = redis.call, _G.tonumber, _G.tostring, _G.pairs,
        _G.ipairs, _G.unpack
    pcall, type, error, struct, next = _G.pcall, _G.type, _G.error, _G.struct, _G.next
    floor, max, min, ceil = math.floor, math.max, math.min, math.ceil
    match, gmatch, gsub, sub, byte = string.match, string.gmatch, string.gsub, string.sub, string.byte
    find, format, concat, sort = string.find, string.format, table.concat, table.sort
end
local verbs = {}

--- include lua/include/turn.lua
--- include lua/include/full.lua
--- include lua/include/bounds.lua
--- include lua/include/idle.lua
--- include lua/include/fair.lua
--- include lua/include/open.lua
--- include lua/include/claim.lua
--- include lua/include/position.lua
--- include lua/include/outcome.lua

-- A function of Lua has at most 200 locals at a time, and Redis refuses a library with more: names that one or two
-- files need end with their block. `luac -p` on what `lua_headers.pl --expand` prints says so at once.
do
--- include lua/include/limit.lua
--- include lua/include/job_queue.lua
--- include lua/include/documents.lua
--- include lua/documents/admit.lua
do
--- include lua/documents/upload.lua
end
do
--- include lua/documents/docs.lua
--- include lua/documents/doc.lua
end
--- include lua/documents/doc_delete.lua
--- include lua/documents/doc_reindex.lua
do
--- include lua/documents/job_begin.lua
--- include lua/documents/job_steal.lua
end
--- include lua/documents/job_upload.lua
--- include lua/documents/job_text.lua
--- include lua/documents/job_progress.lua
--- include lua/documents/job_parsed.lua
--- include lua/documents/job_vectors.lua
do
--- include lua/documents/job_store.lua
end
--- include lua/documents/job_fail.lua
--- include lua/documents/job_release.lua
--- include lua/documents/job_pass.lua
--- include lua/documents/job_waiting.lua
--- include lua/documents/sweep.lua
do
--- include lua/documents/search.lua
end
--- include lua/documents/vectors.lua
do
--- include lua/documents/packs.lua
end
do
--- include lua/documents/chunk.lua
--- include lua/documents/passages.lua
end
do
--- include lua/documents/watch_indexing.lua
--- include lua/documents/watch_indexing_again.lua
end
--- include lua/documents/unwatch_indexing.lua
--- include lua/backup/restore_document.lua
--- include lua/backup/restore_vectors.lua
end

--- include lua/queue/add.lua
--- include lua/queue/claim.lua
--- include lua/queue/unpark.lua
--- include lua/queue/delivered.lua
--- include lua/queue/give_back.lua
--- include lua/queue/complete.lua
--- include lua/queue/check.lua
--- include lua/queue/cancel.lua
--- include lua/queue/extend.lua
--- include lua/queue/partial.lua
--- include lua/queue/partials.lua
--- include lua/queue/release.lua
--- include lua/queue/reap.lua
do
--- include lua/queue/sync.lua
--- include lua/queue/supersede.lua
--- include lua/queue/away.lua
end
--- include lua/lookup/add.lua
--- include lua/lookup/claim.lua
--- include lua/lookup/match.lua
do
--- include lua/lookup/recommend.lua
--- include lua/backup/restore_key.lua
end
--- include lua/lookup/recommendations.lua
--- include lua/topic/thread.lua
--- include lua/lookup/list.lua
--- include lua/topic/user_topics.lua
--- include lua/topic/rename.lua
--- include lua/topic/delete.lua
--- include lua/topic/purge.lua
do
--- include lua/queue/ask.lua
--- include lua/queue/ask_leave.lua
--- include lua/queue/sweep_asks.lua
--- include lua/queue/engines.lua
--- include lua/backup/restore_begin.lua
--- include lua/backup/restore_lookup.lua
--- include lua/backup/restore_unneeded.lua
--- include lua/backup/restore_drop.lua
--- include lua/backup/restore_topic.lua
end
do
--- include lua/operator/status.lua
--- include lua/operator/list.lua
--- include lua/operator/retry.lua
--- include lua/operator/drain.lua
end
--- include lua/auth/failure.lua
--- include lua/auth/nonce.lua
--- include lua/auth/key.lua

redis.register_function(FUNCTION_NAME, turn)
redis.register_function{
    function_name = FUNCTION_NAME .. '_freeing',
    callback = turn_freeing,
    flags = {'allow-oom'},
}
