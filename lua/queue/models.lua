-- models: lists the models of the doors (queue/apis.lua) that engines have named within the last hour, by name.
-- KEYS: models_seen, lease:<id>.
-- Wakes: nobody.
-- Bound: the models that queue/newest.lua keeps.
-- Lane: read.  Home: cluster.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: replay | ok, then per model of each api its name/api/ms since an engine was last there for it
local fallback = require('queue/fallback')
local bounds = require('turn/bounds')
local call = redis.call
local concat, sort = table.concat, table.sort
local format, match = string.format, string.match
local max = math.max

local COMMANDS = 2 -- for each model
local LISTED_MS = 3600000

local function comes_first(x, y)
    return x.model < y.model or (x.model == y.model and x.api < y.api)
end

local function verb(turn, a)
    --- arguments
    local found, lines, names = {}, {'ok'}, call('HKEYS', turn.prefix .. 'models_seen')
    bounds.note_read(turn, COMMANDS * #names, 0)
    for _, name in ipairs(names) do
        local api, model = match(name, '^([^/]+)/(.+)$')
        local at = api and api ~= 'continues' and fallback.seen_at(turn, name)
        local age = at and max(0, turn.now_ms - at)
        if age and age < LISTED_MS then found[#found + 1] = {api = api, model = model, age = age} end
    end
    sort(found, comes_first)
    for i, one in ipairs(found) do lines[i + 1] = one.model .. '\n' .. one.api .. '\n' .. format('%d', one.age) end
    return concat(lines, '\n')
end

return {models = verb}
