-- charges: counts the tokens that a query has used, once, in the step that ends it: for its account's usage
--   (users/tokens.lua), and if the account has budgets for these. Without the engine's word for it a token is 4 bytes
--   of the request or of the answer, and a piece of an answer that was not finished.
local budgets = require('account/budgets')
local behind = require('queue/behind')
local tokens = require('users/tokens')
local call = redis.call
local byte, match = string.byte, string.match
local floor = math.floor

local BYTES_PER_TOKEN = 4
local PENDING = 80 -- the first byte of such a state

local function of_bytes(n)
    return floor(n / BYTES_PER_TOKEN) + 1
end

-- The row of a question over documents (queue/ask.lua) has all of it.
local function of_request(key, seq)
    local bytes = call('HSTRLEN', key, 'r:' .. seq)
    return of_bytes(bytes > 0 and bytes or call('HSTRLEN', key, 'q:' .. seq))
end

-- An answered query. `grant`: its field g:<seq>, if it has one; of others it is `false`. Returns the tokens if its
-- engine has said them: "<read> <written>".
local function charge_answered(turn, key, seq, grant, account, user, model, facts, answer, is_of_door)
    local prompt, completion = tokens.said(facts)
    local is_said = prompt ~= nil
    if not is_said and (is_of_door or grant) then prompt, completion = of_request(key, seq), of_bytes(#answer) end
    if prompt then
        tokens.count(turn, account, behind.person_of(user), model, prompt, completion, not is_said)
    end
    if grant then budgets.charge_anywhere(turn, account, grant, prompt + completion) end
    return is_said and tokens.as_text(prompt, completion)
end

-- One that ends without an answer, before its pieces are deleted. Its engine has read the request, unless that is why
-- it failed.
local function charge_unanswered(turn, topic, seq, state, row, grant, has_failed)
    local key, prompt, completion, is_said = turn.prefix .. 't:' .. topic, 0, 0, false
    local account, user, model = match(row, '^%d+\n(%S+) (%S+) (%S+)')
    if state and byte(state) == PENDING then
        local said_prompt, said_completion = tokens.said(call('HGET', key, 'f:' .. seq) or '')
        is_said = said_prompt ~= nil
        completion = said_completion or call('XLEN', turn.prefix .. 'partials:' .. topic .. ':' .. seq)
        prompt = said_prompt or ((completion > 0 or not has_failed) and of_request(key, seq)) or 0
    end
    call('HDEL', key, 'g:' .. seq)
    if prompt + completion > 0 then
        tokens.count(turn, account, behind.person_of(user), model, prompt, completion, not is_said)
    end
    budgets.charge_anywhere(turn, account, grant, prompt + completion)
end

return {charge_answered = charge_answered, charge_unanswered = charge_unanswered}
