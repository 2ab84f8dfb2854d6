-- nonces_held: a node reports which signed requests it holds, and how those that it held have ended. While one is held,
--   its nonce is used up for everybody, but its mark is known: if the node dies or the client's connection is lost, the
--   same request is admitted once more (auth/nonce_again.lua).
-- KEYS: held:<node> set with TTL, lost:<mark> string with TTL.
-- Wakes: nobody.
-- Bound: the requests named.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each request 300:
--     mark  name                      of its nonce and its target (12 hex digits); its shard is that of the nonce
--     what  words held|answered|lost  lost: its client's connection, before an answer began
-- Replies: ok
local held_nonces = require('auth/held_nonces')
local bounds = require('turn/bounds')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local last, held, ended = {}, {}, {}
    bounds.note_read(turn, request_to - request_from + 1, 0)
    for i = request_from, request_to, 2 do last[args[i]] = args[i + 1] end
    for mark, what in pairs(last) do
        local list = what == 'held' and held or ended
        list[#list + 1] = mark
        if what == 'lost' then call('SET', held_nonces.lost_key(turn, mark), '1', 'PX', held_nonces.AGAIN_MS) end
    end
    local key = held_nonces.key_of(turn, turn.node)
    if #ended > 0 then call('SREM', key, unpack(ended)) end
    if #held > 0 then
        call('SADD', key, unpack(held))
        call('EXPIRE', key, held_nonces.KEPT_S)
    end
    return 'ok'
end

return {nonces_held = verb}
