-- usage: counts what is stored for a user on this shard, in pages. Each page counts the queries of some topics; every
--   page has the other counts too.
-- KEYS: topics:<user>, t:<topic>, waiting, stored, recommenders, recommenders:<account>, docs:<space>, space:<space>,
--   limit:<what>:<user>, wf_of:<user>, rooms_of:<user>, messages_of,
--   bots_of:<user>, evaluations_of:<user>, tokens:<user>, account_tokens:<account>.
-- Wakes: nobody.
-- Bound: TOPICS_PAGE topics, of each its last Seq.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user     name
--   account  name    whose share of the user's Open queries it is
--   space    name    of its documents
--   from     number  topics that were counted
-- Replies: replay | ok/topics to continue after ('' when there are none)/queries of this page/topics/Open queries of
--   that account and user/bytes stored for that account and user/for that account/recommendations/documents/bytes of
--   them/passages of them/uploads in the last minute/in the last hour/questions over documents in the last minute/runs
--   of workflows/rooms in which it has a part/messages/bots/evaluations/tokens that models read for the user in the
--   last 30 days/that they wrote/the same two of the account
local bounds = require('turn/bounds')
local tokens = require('users/tokens')
local call = redis.call
local format = string.format
local concat = table.concat

local TOPICS_PAGE = 1000

local function recommended_n(turn, user)
    local P, n = turn.prefix, 0
    local accounts = call('ZRANGE', P .. 'recommenders', 0, -1)
    bounds.note_read(turn, #accounts, 0)
    for _, account in ipairs(accounts) do
        n = n + (tonumber(call('ZSCORE', P .. 'recommenders:' .. account, user) or 0) or 0)
    end
    return n
end

local function used(turn, what, user, seconds)
    return call('ZCOUNT', turn.prefix .. 'limit:' .. what .. ':' .. user,
                format('(%.0f', turn.now_us - seconds * 1000000), '+inf')
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local mine, queries = P .. 'topics:' .. user, 0
    local page = call('ZRANGE', mine, from, from + TOPICS_PAGE - 1)
    for i = 1, #page do queries = queries + (tonumber(call('HGET', P .. 't:' .. page[i], 'seq')) or 0) end
    bounds.note_read(turn, #page, 0)
    local b = call('HMGET', P .. 'stored', account .. ' ' .. user, account)
    local s = call('HMGET', P .. 'space:' .. space, 'bytes', 'chunks')
    local read, written = tokens.of_user(turn, user)
    local account_read, account_written = tokens.of_account(turn, account)
    return concat({
        'ok', #page == TOPICS_PAGE and format('%d', from + TOPICS_PAGE) or '', format('%d', queries),
        call('ZCARD', mine), call('HGET', P .. 'waiting', account .. ' ' .. user) or 0,
        b[1] or 0, b[2] or 0,
        format('%d', recommended_n(turn, user)), call('ZCARD', P .. 'docs:' .. space), s[1] or 0, s[2] or 0,
        used(turn, 'upload', user, 60), used(turn, 'upload', user, 3600), used(turn, 'ask', user, 60),
        call('ZCARD', P .. 'wf_of:' .. user), call('ZCARD', P .. 'rooms_of:' .. user),
        call('HGET', P .. 'messages_of', user) or 0, call('ZCARD', P .. 'bots_of:' .. user),
        call('ZCARD', P .. 'evaluations_of:' .. user), read, written, account_read, account_written,
    }, '\n')
end

return {usage = verb}
