-- complete: stores an answer, once. Compare and set: the first valid answer wins.
-- Stops these races: two engines answer the same query (the second gets done), an engine answers
--   after its lease ended and another has claimed the row (lost: the holder or the fencing id
--   differs) or nobody has (taken, also by its text alone), the same answer sent twice after a lost
--   reply (same).
-- With a class it then continues like queue/claim.lua.
-- KEYS: t:<topic>, stored, leases, lease:<id>, partials:<topic>:<seq>, tokens:<user>, account_tokens:<account>,
--   account/budgets.lua; with a class those of queue/claim.lua.
-- Wakes: every node that waits for the query, with the answer; with a class, those that queue/claim.lua wakes.
-- Bound: one query; the states of its claim (CLAIM_MAX) when the last Seq is answered first; the rows of its claim
--   (REPLY_BYTES), TEXT_LOOKBACK states and twice SCAN_BYTES of rows, when the text decides; with a class one claim.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   topic       name
--   seq         digits
--   lease       text? 20  without when the engine did not say
--   holder      name      account
--   query       json? 2m  none with an offset
--   answer      text 8m   "answer\nthink\nmodel", JSON lines
--   by_text     flag      the text alone decides which query it is (the deployed dialect)
--   class       text? 4k  of a poll for the next claim: it and what follows as queue/claim.lua takes them
--   is_parking  flag
--   engine      name?
--   poll        digits?
--   facts       text? 1k  what the engine says of the answer: the JSON members FinishReason and Usage; what is not
--                         there is taken from its partial answers
--   deltas      text? 1m  the last pieces of a door's answer (queue/pieces.lua)
--   offset      number?   how many bytes of deltas precede these. With it the query is known by Seq and lease alone
-- Replies: ok/seq/ms/created (ms)/its lease, if that ended, or -; with Usage then after spaces the tokens of the
--   prompt, those of the answer, the model that was asked (name), or default if it was served so, and the account
--   | same/seq/ms | done | cancelled | failed | lost | mismatch | missing | gap/expected | large | replay; after the
--   first two, with a class, what queue/claim.lua replies (empty while Redis is full)
local charges = require('account/charges')
local apis = require('queue/apis')
local facts_of = require('queue/facts')
local held = require('queue/held')
local outcomes = require('queue/outcomes')
local pieces = require('queue/pieces')
local polls = require('queue/polls')
local records = require('queue/records')
local responses = require('queue/responses')
local stored = require('queue/stored')
local waiters = require('queue/waiters')
local bounds = require('turn/bounds')
local parts = require('turn/parts')
local call = redis.call
local byte, gmatch, match = string.byte, string.gmatch, string.match

local OPEN_LOOK_ROWS, OPEN_LOOK_BYTES = 1000, 4194304 -- of Open rows, for the text of a late answer

-- A late answer: the lowest Open Seq with that text, of those that were claimed before if there is one.
-- (A claim whose node died before it confirmed used up no attempt; its engine may answer all the same.)
-- Lengths are asked first, so that rows too short for that text are not read.
local function find_open_text(turn, topic, query)
    local key = turn.prefix .. 't:' .. topic
    local bytes, rows, never_claimed = 0, 0, nil
    for item in gmatch(call('HGET', key, 'open') or '', '[^;]+') do
        local seq, attempts = match(item, '^(%d+) (%d+) ')
        local n = call('HSTRLEN', key, 'q:' .. seq)
        rows = rows + 1
        bounds.note_read(turn, 1, 0)
        if rows > OPEN_LOOK_ROWS then break end
        if n > #query and (attempts ~= '0' or not never_claimed) then
            bytes = bytes + n
            if bytes > OPEN_LOOK_BYTES then break end
            bounds.note_read(turn, 1, n)
            if held.ends_with(call('HGET', key, 'q:' .. seq), query) then
                if attempts ~= '0' then return seq end
                never_claimed = seq
            end
        end
    end
    return never_claimed
end

-- State, row, who waits, and what the topic was counted with.
local function read(turn, key, seq)
    local got = call('HMGET', key, 's:' .. seq, 'q:' .. seq, 'w:' .. seq, 'stored', 'd:' .. seq, 'f:' .. seq,
                     'k:' .. seq, 'g:' .. seq)
    bounds.note_read(turn, 0, #(got[2] or ''))
    return got
end

-- Each case has a call of its own: a list to unpack would cost as much as the fields do.
local function write(key, seq, text, is_waited, counted)
    local state, answer = 's:' .. seq, 'a:' .. seq
    if is_waited and counted then
        call('HSET', key, state, 'D', answer, text, 'w:' .. seq, '', 'stored', counted)
    elseif is_waited then
        call('HSET', key, state, 'D', answer, text, 'w:' .. seq, '')
    elseif counted then
        call('HSET', key, state, 'D', answer, text, 'stored', counted)
    else
        call('HSET', key, state, 'D', answer, text)
    end
end

-- Did the claim serve the query as `default`? A query for that model is not marked.
local function is_as_default(key, seq, model, lease)
    return lease and model ~= 'default' and call('HGET', key, 'm:' .. seq) == lease
end

-- Stores it. Returns what is replied of the answer, and whether it is stored.
local function complete(turn, topic, seq, lease, holder, query, answer, by_text, facts, deltas, offset)
    local key = turn.prefix .. 't:' .. topic
    local got = read(turn, key, seq)
    if offset and not got[2] then return 'missing' end
    if not offset and (by_text or not got[2] or not held.ends_with(got[2], query)) then
        local found = held.find_held_text(turn, topic, lease, holder, query, answer)
            or find_open_text(turn, topic, query)
        if found then
            seq = found
            got = read(turn, key, seq)
        elseif not got[2] then
            return (by_text and call('EXISTS', key) == 1) and 'mismatch' or 'missing'
        elseif not held.ends_with(got[2], query) then
            return 'mismatch'
        end
    end
    local state, row = got[1], got[2]
    local first = state and byte(state)
    if first == 68 then
        local had = call('HGET', key, 'a:' .. seq)
        bounds.note_read(turn, 0, #had)
        local n = records.answer_bytes(had, answer)
        if n then return 'same\n' .. seq .. '\n' .. match(had, '^(%d+)', n + 2), true end
        return 'done'
    end
    if first == 67 then return 'cancelled' end
    if first == 70 then return 'failed' end
    local holding, by, n = records.claim_of(state)
    if holding then
        if by ~= holder or (lease ~= '' and lease ~= holding) then return 'lost' end
    end
    if offset then
        if not holding then return 'lost' end -- what its claim has said is gone
        local refused = pieces.append_deltas(turn, topic, seq, got[3], records.claim_number(state, got[7]), offset,
                                             deltas)
        if refused then return refused end
    end
    local created, account, user, model = match(row, '^(%d+)\n(%S+) (%S+) (%S+)')
    local is_of_door = apis.is_of_api(model)
    if is_as_default(key, seq, model, holding) then answer, model = records.as_default(answer), 'default' end
    facts = facts_of.merge(holding and got[6], facts)
    local said = facts == '' and '' or ' ' .. facts
    local text, is_waited = answer .. '\n' .. turn.now_text .. '\n' .. holder .. said, got[3] and got[3] ~= ''
    local counted = got[4] and stored.add_answer(turn, key, got[4], row, #text)
    write(key, seq, text, is_waited, counted)
    local grant = got[8]
    if got[5] or got[6] or grant then call('HDEL', key, 'd:' .. seq, 'f:' .. seq, 'g:' .. seq) end
    local used = (facts ~= '' or is_of_door or grant)
        and charges.charge_answered(turn, key, seq, grant, account, user, model, facts, answer, is_of_door)
    local is_ended = holding and outcomes.leave_lease(turn, topic, holding, n)
    if not holding then outcomes.leave_open(turn, topic, seq) end
    if is_of_door then responses.note_answer(turn, topic, seq, facts) end
    if is_waited then
        waiters.notify(turn, topic, seq, got[3], outcomes.as_event(topic, seq, row, 'D', text))
    end
    return 'ok\n' .. seq .. '\n' .. turn.now_text .. '\n' .. created .. '\n' .. (is_ended and holding or '-')
        .. (used and ' ' .. used .. ' ' .. model .. ' ' .. account or ''), true
end

local function verb(turn, a)
    --- arguments
    local reply, is_stored = complete(turn, topic, seq, lease, holder, query, answer, by_text, facts, deltas, offset)
    if class == '' or not is_stored then return reply end
    return parts.put_first(reply .. '\n', polls.claim(turn, class, is_parking, engine, poll))
end

return {complete = verb}
