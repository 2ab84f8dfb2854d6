-- search: returns what a search of a space needs from Redis: the list of current packs, if the node's list is outdated,
--   and the nearest elements of its vector set, if it has one. The node does the ranking (shared/search/index.h). A
--   vector set holds the vectors of one model and dimension. The search uses the set of the question's model, even if
--   the space has others while it changes models. Elements that are being deleted or belong to a running job are
--   skipped, so more elements than needed are requested.
-- KEYS: space:<space>, packs:<space> hashes, vectors:<space>:<digest> vector set; auth/limiter.lua.
-- Wakes: nobody.
-- Bound: DOCS_MAX documents, NEAR_MAX elements.
-- Lane: read.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: yes, but counts again.
-- Arguments:
--   space   name
--   limits  text? 4k
--   known   text? 20    version
--   count   number
--   vector  bytes? 32k  float32, little-endian
--   digest  name?       of its model and dimension (embedding_of)
-- Replies: replay | limited/retry ms/limit/window s | ok/left (as in admit)/version/n, then n lines
--   "<doc> <generation>" of all documents (none when the version is the known one), NUL, then lines
--   "<doc> <generation> <chunk> <similarity>" (cosine, -1 to 1; the nearest first) of the vector set
local limiter = require('auth/limiter')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local max, min = math.max, math.min

local SEARCH_EF, NEAR_SPARE, NEAR_MAX = 30, 10, 4096

-- The `n` nearest of what is searched now, as lines.
local function nearest(turn, space, digest, vector, n)
    local P = turn.prefix
    local key, packs = P .. 'vectors:' .. space .. ':' .. digest, P .. 'packs:' .. space
    if n == 0 or vector == '' or call('EXISTS', key) == 0 then return '' end
    local wanted = min(n + NEAR_SPARE, NEAR_MAX)
    while true do
        local found = call('VSIM', key, 'FP32', vector, 'WITHSCORES', 'COUNT', wanted, 'EF', max(SEARCH_EF, wanted))
        local near, generations = {}, {}
        for i = 1, #found, 2 do
            local doc, generation, chunk = match(found[i], '^(%S-):(%d+):(%d+)$')
            if generations[doc] == nil then generations[doc] = call('HGET', packs, doc) end
            if generations[doc] == generation and #near < n then
                local cosine = format('%.6f', 2 * found[i + 1] - 1)
                near[#near + 1] = doc .. ' ' .. generation .. ' ' .. chunk .. ' ' .. cosine
            end
        end
        if #near == n or #found < 2 * wanted or wanted == NEAR_MAX then return concat(near, '\n') end
        wanted = min(8 * wanted, NEAR_MAX)
    end
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local refused, left = limiter.admit(turn, limits)
    if refused then return refused end
    local version = call('HGET', P .. 'space:' .. space, 'version') or '0'
    local text = {'ok', left, version, ''}
    if version ~= known then
        local packs = call('HGETALL', P .. 'packs:' .. space)
        for i = 1, #packs, 2 do text[#text + 1] = packs[i] .. ' ' .. packs[i + 1] end
    end
    text[4] = #text - 4
    return concat(text, '\n') .. '\0' .. nearest(turn, space, digest, vector, count)
end

return {search = verb}
