-- made: remembers the reply to a request with an Idempotency-Key (shared/http/request/once.h). A verb that creates
-- something takes `key`, "<digest of the request> <account>:<key>" or '', asks `again` before anything else, and keeps
-- its reply with what it has created, in the same step. Refusals are not kept.
-- KEYS: idem:<account>:<key> string with TTL, "<digest> <reply>".
local call = redis.call
local match = string.match

local KEPT_S = 86400

-- The kept reply; `reused` if the key was used for another request; nil if it was not used.
local function again(turn, key)
    if key == '' then return nil end
    local digest, name = match(key, '^(%x+) (.+)$')
    local with, reply = match(call('GET', turn.prefix .. 'idem:' .. name) or '', '^(%x+) (.*)$')
    if not with then return nil end
    return with == digest and reply or 'reused'
end

-- Keeps a reply, and returns it.
local function keep(turn, key, reply)
    if key ~= '' then
        local digest, name = match(key, '^(%x+) (.+)$')
        call('SET', turn.prefix .. 'idem:' .. name, digest .. ' ' .. reply, 'EX', KEPT_S)
    end
    return reply
end

return {again = again, keep = keep}
