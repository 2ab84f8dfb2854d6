-- bot_outcome: a delivery to a bot has succeeded or failed. After 5 failures in a row the bot rests for 30 s; then one
-- delivery at a time tries it, until one succeeds.
-- Stops this race: the outcome of a call of a former bot of that name arrives (another id: nothing changes).
-- KEYS: bot:<name>.
-- Wakes: nobody.
-- Bound: one bot.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: a failure counts once more.
-- Arguments:
--   bot      name
--   id       name
--   is_good  flag
-- Replies: missing | ok/failures in a row/ms that it rests from now on (0: it does not)
local registry = require('bots/registry')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local b = registry.read(turn, bot)
    if not b or b.id ~= id then return 'missing' end
    if is_good then
        if b.failures ~= '0' or b.open_until ~= '' then
            call('HSET', b.key, 'failures', 0, 'open_until', '', 'trial_until', '')
        end
        return 'ok\n0\n0'
    end
    local failures, rest_ms = b.failures + 1, 0
    call('HSET', b.key, 'failures', format('%d', failures))
    if failures >= registry.FAILURES then
        rest_ms = registry.REST_MS
        call('HSET', b.key, 'open_until', format('%d', turn.now_ms + rest_ms), 'trial_until', '')
    end
    return 'ok\n' .. format('%d', failures) .. '\n' .. format('%d', rest_ms)
end

return {bot_outcome = verb}
