// SPDX-License-Identifier: MIT
//
// What clients read when they have made a mistake. A row is one mistake: the request, its status, and words that its detail
// must have. `s` is what was made before: a topic with a claimed query, a room, a bot and so on. Every answer is a problem
// document, repeats neither HTML nor what is long or secret, and is the same for what belongs to others as for what does not
// exist.
import assert from 'node:assert/strict';
import { before } from 'node:test';
import { assertMistake } from '../support/mistakes.mjs';
import { openRoom } from '../support/rooms.mjs';
import { ownShards } from '../support/shards.mjs';
import { formOf } from '../support/documents.mjs';
import { openWorkflow } from '../support/workflow.mjs';
import { ACCOUNTS, assertOk, newNonce, newTopic, sign, suite } from '../support/harness.mjs';

ownShards(); // one: limits are counted in each shard, and messages say nothing of shards

const F = 'Frontend_1';
const U = 'User_1';
const E = 'Inference_1';
const O = 'Operator_1';
const HTML = '<img src=x onerror=alert(1)>';
const UUID = '01234567-89ab-4cde-8f01-23456789abcd';
const HEX24 = '0123456789abcdef01234567';
const KIB = 1024;
const MIB = 1024 * KIB;
const secret = (as) => ACCOUNTS[as].secret;
const basic = (text) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });

// Failed logins are counted by account and address.
let lastHost = 0;
const fresh = () => `127.7.0.${++lastHost}`;
const failing = (options) => ({ localAddress: fresh(), ...options });

const get = (path, as, query) => ['GET', path, { as, query }];
const post = (path, as, body, more) => ['POST', path, { as, body, ...more }];
const without = (object, ...names) => Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

const ROWS = {
  'paths and methods': () => [
    [get('/api/nothing'), 404, "no route '/api/nothing'", '/openapi.yaml', '/handbook'],
    [get('/api/ad-query', F), 404, "'/api/ad-query'", 'did you mean /api/add-query?'],
    [get('/api/check-querys'), 404, 'did you mean /api/check-query?'],
    [get('/api/Add-Query'), 404, 'did you mean /api/add-query?'],
    [get('/api/add-query/'), 404, 'did you mean /api/add-query?'],
    [get('/api/add_query'), 404, 'did you mean /api/add-query?'],
    [get('/add-query'), 404, 'did you mean /api/add-query?'],
    [get('/api/get-topics-thread'), 404, 'did you mean /api/get-topic-thread?'],
    [get(`/api/doc/${UUID}`), 404, 'did you mean /api/docs/{id}?'],
    [get(`/api/docs/${UUID}/chunk/0`), 404, 'did you mean /api/docs/{id}/chunks/{index}?'],
    [get(`/api/rooms/${HEX24}/message`), 404, 'did you mean /api/rooms/{id}/messages?'],
    [get('/api/workflow/questions'), 404, 'did you mean /api/workflows/questions?'],
    [get('/asks'), 404, 'did you mean /ask?'],
    [get('/livezz'), 404, 'did you mean /livez?'],
    [get('/api'), 404, "no route '/api'"],
    [get(`/api/${'x'.repeat(3000)}`), 404, 'xxx...'],
    [get(`/${encodeURIComponent(HTML)}`), 404, 'no route'],
    [get('/handbook/engine'), 404, "no page 'engine'", '/handbook lists'],
    [get('/api/add-query', F), 405, "'/api/add-query' takes POST, not 'GET'"],
    [['PATCH', '/api/check-query', { as: F }], 405, 'takes GET, HEAD, not', "'PATCH'"],
    [['BREW', '/ask', {}], 405, "'/ask' takes POST", "'BREW'"],
    [['DELETE', '/api/rooms', { as: U }], 405, 'takes POST, GET, HEAD'],
    [['PUT', `/api/docs/${UUID}`, { as: U }], 405, 'takes GET, HEAD, DELETE', "'PUT'"],
    [get('/ws', U), 426, 'WebSocket', 'upgrade'],
    [get(`/ws/rooms/${HEX24}`, U), 404, `room '${HEX24}'`],
  ],

  'credentials': (s) => [
    [['GET', '/api/login', failing()], 401, 'No credentials', 'User, Nonce and Hash', 'Bearer', '/api/login'],
    [['GET', '/api/login', failing({ query: { user: U, nonce: 'n', hash: '0' } })], 401, 'spelt User, Nonce and Hash'],
    [['GET', '/api/login', failing({ query: without(sign(U, secret(U)), 'Nonce') })], 401, 'not complete', 'Nonce is missing'],
    [['GET', '/api/login', failing({ query: without(sign(U, secret(U)), 'Hash') })], 401, 'not complete', 'Hash is missing'],
    [['GET', '/api/login', failing({ query: without(sign(U, secret(U)), 'User') })], 401, 'not complete', 'User', 'is missing'],
    [['GET', '/api/login', failing({ query: { ...sign(U, secret(U)), Hash: 'abc' } })], 401, 'Hash must be 64 hex digits', '40'],
    [['GET', '/api/login', failing({ query: { ...sign(U, secret(U)), Hash: 'z'.repeat(64) } })], 401, 'Hash must be 64 hex digits'],
    [['GET', '/api/login', failing({ query: sign(U, secret(U), { nonce: 'x'.repeat(129) }) })], 401, 'Nonce must be 1 to 128 bytes'],
    [['GET', '/api/login', failing({ query: sign(U, 'wrong') })], 401, 'account or its secret is wrong', '<User> <Nonce> <secret>'],
    [['GET', '/api/login', failing({ query: sign('Nobody_8', 'wrong') })], 401, 'account or its secret is wrong', '<User> <Nonce> <secret>'],
    [['GET', '/api/login', { query: s.used }], 401, 'nonce has already been used', 'new one'],
    [['GET', '/api/me', failing({ headers: { Authorization: 'Bearer nonsense' } })], 401, 'not a token', 'three parts', '/api/login'],
    [['GET', '/api/me', failing({ headers: { Authorization: 'Bearer a.b.c' } })], 401, 'token is not valid here', '/api/login'],
    [['GET', '/api/me', failing({ headers: { Authorization: `Bearer ${s.token.slice(0, -4)}` } })], 401, 'token is not valid here'],
    [['GET', '/api/me', failing({ headers: { Authorization: 'Bearer ' } })], 401, '`Bearer`', 'token', '/api/login'],
    [['GET', '/api/me', failing({ headers: { Authorization: s.token } })], 401, 'must be `Bearer`, a space and a token'],
    [['GET', '/api/me', failing({ headers: basic(`${U}:${secret(U)}`) })], 401, 'does not take `Authorization: Basic`', '/api/login'],
    [['GET', '/api/login', failing({ headers: basic(`${U}:${secret(U)}`) })], 401, 'this account must sign', 'hashed secret'],
    [['GET', '/api/login', failing({ headers: basic('Nobody_8:x') })], 401, 'this account must sign', 'hashed secret'],
    [['GET', '/api/login', failing({ headers: basic('no colon') })], 401, 'base64', 'colon'],
    [['POST', '/api/login/link', { headers: { Authorization: `Bearer ${s.token}` } }], 401, 'cannot be used to make a link', 'Hash'],
    [['POST', '/api/login', failing({ body: { code: 'guessed' } })], 401, 'link is not valid', 'copy it again'],
    [['GET', '/api/me', failing({ query: { token: s.token } })], 401, '`token`', 'WebSockets only', 'Bearer'],
    [['GET', '/api/me', failing({ headers: { 'x-api-key': `${U}:${secret(U)}` } })], 401, 'does not take x-api-key'],
    [['GET', '/api/depth', failing({ headers: { 'x-api-key': secret(O) } })], 401, 'x-api-key must be', 'colon'],
    [['GET', '/api/depth', failing({ headers: { 'x-api-key': `${O}:wrong` } })], 401, 'wrong in x-api-key'],
    [['POST', '/api/add-query', failing({ body: { pad: 'x'.repeat(40 * KIB) } })], 401, 'No credentials', '16 KiB'],
    [['GET', `/api/bots/${s.bot}/deliveries`, failing()], 401, 'X-CALLER-KEY is missing', 'caller_key'],
    [['GET', `/api/bots/${s.bot}/deliveries`, failing({ headers: { 'x-caller-key': 'nonsense' } })], 401, 'X-CALLER-KEY is wrong'],
    [['GET', '/api/bots/other/deliveries', { headers: { 'x-caller-key': s.key } }], 401, "a bot other than 'other'"],
    [['GET', '/api/me', { headers: { Authorization: `Bearer ${'x'.repeat(8193)}` } }], 431, 'longer than 8 KiB'],
  ],

  'roles': (s) => [
    [get('/api/get-new-queries', F, { Wait: 0 }), 403, 'has the role frontend', 'GET /api/get-new-queries needs', 'role engine'],
    [get('/api/status', E), 403, 'has the role engine', 'role operator'],
    [post('/api/add-query', O, {}), 403, 'has the role operator', 'role frontend or user'],
    [get('/api/docs', E), 403, 'has the role engine', 'frontend or user'],
    [['DELETE', `/api/rooms/${HEX24}`, { as: E }], 403, 'has the role engine', 'frontend, user or operator'],
    [post('/api/add-query', U, { Topic: newTopic(), User: 'bob', Query: 'Why?' }), 403, 'for itself only', "not for 'bob'", 'frontend'],
    [get('/api/user-topics', U, { OnBehalfOf: HTML }), 403, 'acts for itself only'],
    [get('/api/users/alice/usage', U), 403, "not for 'alice'"],
    [get('/api/users/alice/usage', F, { OnBehalfOf: 'bob' }), 403, "OnBehalfOf is 'bob'", "'alice'"],
    [['DELETE', '/api/topic', { as: F, query: { OnBehalfOf: 'alice', Topic: 'gone' } }], 403, "no topic 'gone'"],
    [['DELETE', '/api/topic', { as: F, query: { OnBehalfOf: 'bob', Topic: s.Topic } }], 403, `no topic '${s.Topic}'`],
    [['PUT', '/api/rename-topic', { as: F, query: { OnBehalfOf: 'bob', Topic: s.Topic, Description: 'd' } }], 403, `no topic '${s.Topic}'`],
    [['DELETE', `/api/rooms/${s.room}`, { as: 'User_2' }], 403, 'created this room', 'operator'],
    [['DELETE', `/api/bots/${s.bot}`, { as: 'User_2' }], 403, 'registered this bot'],
    [['GET', '/api/workflows/questions', { as: O, query: { OnBehalfOf: 'bob' } }], 403, 'role operator', "not for 'bob'"],
  ],

  'what is not there': (s) => [
    [get('/api/check-query', F, { Topic: 'gone', Seq: 7, Wait: 0 }), 404, "no query 7 in a topic 'gone'", 'Topic and Seq'],
    [get('/api/check-query', F, { Topic: s.Topic, Seq: 99, Wait: 0 }), 404, `no query 99 in a topic '${s.Topic}'`],
    [get('/api/check-query', 'User_2', { Topic: s.Topic, Seq: 1, Wait: 0 }), 404, `no query 1 in a topic '${s.Topic}'`],
    [get('/api/get-topic-thread', F, { Topic: 'gone' }), 404, "no topic 'gone'"],
    [get('/api/get-topic-thread', 'User_2', { Topic: s.Topic }), 404, `no topic '${s.Topic}'`],
    [get('/api/get-topic-thread', F, { Topic: HTML.replaceAll(' ', '') }), 404, 'no topic'],
    [get('/api/get-topic-thread', 'Acme_1', { Topic: 'gone' }), 404, "no topic 'gone'"],
    [get('/api/user-topics', F, { OnBehalfOf: 'nobody' }), 404, "user 'nobody' has no topics"],
    [get('/api/get-lookups', F, { Topic: 'gone' }), 404, "no topic 'gone'"],
    [post('/api/cancel-query', F, { Topic: 'gone', Seq: 3 }), 404, "no query 3 in a topic 'gone'"],
    [post('/api/add-lookup', F, { Topic: 'gone', Seq: 3, Fragment: 'f' }), 404, "no query 3 in a topic 'gone'"],
    [post('/api/recommend', F, { Topic: 'gone', OnBehalfOf: 'alice', Query: 'q', Fragment: 'f', Type: 'Promote Answer' }), 404, "no topic 'gone'"],
    [post('/api/give-new-answer', E, { Topic: 'gone', Seq: 4, Query: 'q', Answer: 'a' }), 404, "no query 4 in a topic 'gone'"],
    [post('/api/give-new-matches', E, { Fingerprint: 'cafe', Matches: ['m'] }), 404, "Fingerprint 'cafe'"],
    [get('/api/get-new-lookup', E, { Wait: 0 }), 404, 'No lookup is waiting'],
    [post('/api/retry-query', O, { Topic: 'gone', Seq: 5 }), 404, "no query 5 in a topic 'gone'"],
    [post('/api/drain-engine', O, { User: 'Inference_9' }), 404, "no account 'Inference_9' of role engine", '/api/status'],
    [post('/api/drain-engine', O, { User: F }), 404, `no account '${F}' of role engine`],
    [['DELETE', '/api/recommendations', { as: O, query: { Id: '1-0' } }], 404, "Id '1-0'"],
    [get(`/api/docs/${UUID}`, U), 404, `no document '${UUID}'`, 'GET /api/docs'],
    [get('/api/docs/7', U), 404, "no document '7'"],
    [['DELETE', `/api/docs/${UUID}`, { as: U }], 404, `no document '${UUID}'`],
    [post(`/api/docs/${UUID}/reindex`, U, {}), 404, `no document '${UUID}'`],
    [get(`/api/docs/${UUID}/chunks/3`, U), 404, "no passage '3'", UUID],
    [get(`/api/docs/${UUID}/chunks/x`, U), 404, "no passage 'x'"],
    [post(`/api/rooms/${HEX24}/messages`, U, { text: 'hi' }), 404, `no room '${HEX24}'`, 'GET /api/rooms'],
    [get('/api/rooms/kitchen/messages', U), 404, "no room 'kitchen'"],
    [['DELETE', `/api/rooms/${HEX24}`, { as: U }], 404, `no room '${HEX24}'`],
    [['DELETE', '/api/bots/ghost', { as: U }], 404, "no bot 'ghost'", 'GET /api/bots'],
    [post('/api/bots/ghost/rotate', U, {}), 404, "no bot 'ghost'"],
    [post('/api/evaluations', U, { bot: 'ghost', conversation: [] }), 404, "no bot 'ghost'"],
    [get(`/api/evaluations/${HEX24}-1`, U), 404, `no evaluation '${HEX24}-1'`],
    [['DELETE', '/api/evaluations/x', { as: U }], 404, "no evaluation 'x'"],
    [['POST', `/api/bots/${s.bot}/deliveries/7`, { headers: { 'x-caller-key': s.key }, body: { message: 'x' } }], 404, "no delivery '7'"],
    [['POST', `/api/rooms/${s.room}/messages`, { headers: { 'x-caller-key': s.key }, body: { text: 'x', delivery: '7' } }], 404, "no delivery '7'", s.room],
    [post('/api/workflows/questions/7', U, { approved: true }), 404, "no question '7'", 'GET /api/workflows/questions'],
  ],

  'members': (s) => {
    const query = { Topic: newTopic(), User: 'alice', Query: 'Why?' };
    const answer = { Topic: s.Topic, Seq: 1, Query: s.Query, Answer: ['a'] };
    const partial = { Topic: s.Topic, Seq: 1, Lease: s.Lease, Offset: 0 };
    const bot = (more) => post('/api/bots', U, { username: 'new-bot', ...more });
    return [
      [post('/api/add-query', F, without(query, 'Topic')), 400, 'Topic is missing: it must be 1 to 128 bytes'],
      [post('/api/add-query', F, { ...without(query, 'Topic'), topic: 't' }), 400, "Topic is missing, but there is 'topic'", 'spelt exactly'],
      [post('/api/add-query', F, { ...query, Topic: null }), 400, 'Topic is null'],
      [post('/api/add-query', F, { ...query, Topic: 7 }), 400, 'Topic must be', 'not 7.'],
      [post('/api/add-query', F, { ...query, Topic: 'a b' }), 400, "not the string 'a b'"],
      [post('/api/add-query', F, { ...query, Topic: 'x'.repeat(129) }), 400, 'not a string of 129 bytes'],
      [post('/api/add-query', F, { ...query, Topic: '' }), 400, 'not an empty string'],
      [post('/api/add-query', F, { ...query, Topic: ['t'] }), 400, 'not a list of 1 item.'],
      [post('/api/add-query', F, { ...query, Topic: { HTML } }), 400, 'not an object'],
      [post('/api/add-query', F, { ...query, Topic: `${HTML} x` }), 400, 'Topic must be'],
      [post('/api/add-query', F, { ...query, Topic: 'acme~t' }), 400, "'acme~'", 'another namespace'],
      [post('/api/add-query', F, without(query, 'Topic'), { query: { Topic: 't' } }), 400, 'Topic is missing', 'query string has it', 'JSON body'],
      [post('/api/add-query', F, without(query, 'User')), 400, 'User is missing: it must be a string of 1 to 128 bytes.'],
      [post('/api/add-query', F, { ...query, User: 'u'.repeat(129) }), 400, 'User must be', '129 bytes'],
      [post('/api/add-query', F, without(query, 'Query')), 400, 'Query is missing'],
      [post('/api/add-query', F, { ...without(query, 'Query'), query: 'Why?' }), 400, "there is 'query'"],
      [post('/api/add-query', F, { ...without(query, 'Query'), QUERY: 'Why?' }), 400, "there is 'QUERY'"],
      [post('/api/add-query', F, { ...query, Query: 'x'.repeat(256 * KIB + 1) }), 400, '1 to 262144 bytes', '262145 bytes'],
      [post('/api/add-query', F, { ...query, Modifiers: [] }), 400, 'Modifiers must be an object', 'an empty list'],
      [post('/api/add-query', F, { ...query, Model: 7 }), 400, 'Model must be', 'not 7'],
      [post('/api/add-query', F, query, { query: { Wait: 121 } }), 400, 'Wait must be a whole number from 0 to 120', "'121'"],
      [post('/api/add-query', F, query, { headers: { 'Idempotency-Key': 'x'.repeat(129) } }), 400, 'Idempotency-Key', '128 bytes'],
      [post('/api/add-query', F, '{"Topic":'), 400, 'not valid JSON', 'at byte'],
      [post('/api/add-query', F, '[]'), 400, 'JSON, but not an object'],
      [post('/api/add-query', F, 'Topic=t&User=alice'), 400, 'not valid JSON'],
      [post('/api/add-query', F, ''), 400, 'body is empty', 'JSON object'],
      [post('/api/add-query', 'Frontend_D', { ...query, Query: 'short' }), 400, '10 characters'],
      [post('/api/cancel-query', F, { Topic: s.Topic }), 400, 'Seq is missing: it must be a whole number from 1'],
      [post('/api/cancel-query', F, { Topic: s.Topic, Seq: '1' }), 400, 'Seq must be', "not the string '1'"],
      [post('/api/cancel-query', F, { Topic: s.Topic, Seq: 0 }), 400, 'Seq must be', 'not 0'],
      [post('/api/cancel-query', F, { Topic: s.Topic, Seq: 1.5 }), 400, 'not 1.5'],
      [post('/api/add-lookup', F, { Topic: s.Topic, Seq: 1 }), 400, 'Fragment is missing'],
      [post('/api/add-lookup', F, { Topic: s.Topic, Seq: 1, Fragment: 'f', Count: 101 }), 400, 'Count', '1 to 100', 'not 101'],
      [post('/api/add-lookup', F, { Topic: s.Topic, Seq: 1, Fragment: 'f', Threshold: 3 }), 400, 'Threshold', '0 to 2', 'not 3'],
      [post('/api/recommend', F, { Topic: s.Topic, OnBehalfOf: 'alice', Query: 'q', Fragment: 'f', Type: 'Praise' }), 400, 'Type must be Suggest Improvement', "'Praise'"],
      [post('/api/recommend', F, { Topic: s.Topic, Query: 'q', Fragment: 'f', Type: 'Promote Answer' }), 400, 'OnBehalfOf is missing', 'role frontend'],
      [post('/api/give-partial', E, { ...partial, Text: 'lost' }), 400, "neither Think nor Answer, but 'Text'"],
      [post('/api/give-partial', E, { ...partial, text: 'lost', answer: 'lost' }), 400, "'text', 'answer'"],
      [post('/api/give-partial', E, { ...partial, Answer: null, Delta: 'lost' }), 400, "'Delta'"],
      [post('/api/give-partial', E, { ...partial, [HTML]: 'lost' }), 400, 'does not know'],
      [post('/api/give-partial', E, { ...partial, Answer: ['a'] }), 400, 'Answer must be a string', 'not a list of 1 item'],
      [post('/api/give-partial', E, without(partial, 'Lease')), 400, 'Lease is missing', 'Lease of a claim'],
      [post('/api/give-partial', E, { ...without(partial, 'Offset'), offset: 0 }), 400, "Offset is missing, but there is 'offset'"],
      [post('/api/give-new-answer', E, { ...without(answer, 'Answer'), Text: 'lost' }), 400, "Answer is missing, but there is 'Text'", 'list of strings'],
      [post('/api/give-new-answer', E, { ...without(answer, 'Answer'), answer: ['lost'] }), 400, "'answer'"],
      [post('/api/give-new-answer', E, without(answer, 'Answer')), 400, 'Answer is missing: it must be'],
      [post('/api/give-new-answer', E, { ...answer, Answer: [] }), 400, 'Answer must be a non-empty list', 'not an empty list'],
      [post('/api/give-new-answer', E, { ...answer, Answer: [1] }), 400, 'Answer must be', 'not a list of 1 item, one of which is 1.'],
      [post('/api/give-new-answer', E, { ...answer, Think: 7 }), 400, 'Think must be', 'not 7'],
      [post('/api/give-new-answer', E, { ...answer, Usage: { prompt_tokens: -1 } }), 400, 'Usage', 'completion_tokens'],
      [post('/api/give-new-answer', 'Inference_D', { Topic: s.Topic, Seq: 0, Query: s.Query, Text: ['lost'] }), 400, "'Text'"],
      [post('/api/release-claim', E, { Topic: s.Topic, Lease: s.Lease, Retry: 'no' }), 400, 'Retry must be true or false', "'no'"],
      [post('/api/extend-claim', E, { Topic: s.Topic, Lease: 'mine' }), 400, 'Lease must be', "'mine'"],
      [post('/api/give-new-matches', E, { Fingerprint: 'cafe', Matches: 'm' }), 400, 'Matches must be a list', "'m'"],
      [post('/ask', undefined, {}), 400, 'question is missing', '1 to 4000 characters'],
      [post('/ask', undefined, { Question: 'Why?' }), 400, "question is missing, but there is 'Question'"],
      [post('/ask', undefined, { question: ' ' }), 400, 'question must be', "'"],
      [post('/ask', undefined, { question: 'Why?', top_k: 21 }), 400, 'top_k', '1 to 20', 'not 21'],
      [post('/api/rag/ask', U, { question: 'Why?', topK: '5' }), 400, 'topK', "'5'"],
      [post('/api/rag/ask', U, { question: 'Why?', temperature: 2 }), 400, 'temperature', '0 to 1', 'not 2'],
      [post('/api/rag/ask', U, { question: 'Why?', maxTokens: 10 }), 400, 'maxTokens', '50 to 8000', 'not 10'],
      [post('/api/rag/ask', U, { question: 'Why?', rerank: 1 }), 400, 'rerank must be true or false', 'not 1'],
      [post('/api/rag/retrieve', U, { question: 'Why?' }), 400, 'query is missing'],
      [post('/api/agent/run', U, { question: 'Why?', mode: 'chat' }), 400, 'mode must be "agent"', "'chat'"],
      [post('/api/docs/upload', U, { file: 'x' }), 400, 'multipart/form-data', '`file`'],
      [['POST', '/api/docs/upload', { as: U, ...formOf({ name: 'a.txt', bytes: 'x', field: 'document' }) }], 400, '`file`'],
      [['POST', '/api/docs/upload', { as: U, ...formOf({ name: 'a.exe', bytes: 'MZ' }) }], 400, "'a.exe'"],
      [post('/api/rooms', U, {}), 400, 'name is missing', '1 to 128 bytes'],
      [post('/api/rooms', U, { Name: 'Kitchen' }), 400, "there is 'Name'"],
      [post(`/api/rooms/${s.room}/messages`, U, { Text: 'hi' }), 400, "text is missing, but there is 'Text'"],
      [post(`/api/rooms/${s.room}/messages`, U, { text: 'x', reply_to: '1-1' }), 400, "no message '1-1'"],
      [post(`/api/rooms/${s.room}/messages`, U, { text: 'x', reply_to: 'that' }), 400, 'reply_to must be the id of a message', "'that'"],
      [post(`/api/rooms/${s.room}/messages`, U, { text: 'x', tagged: ['ghost'] }), 400, "the name 'ghost'"],
      [bot({ endpoint: 'http://127.0.0.1:1/' }), 400, 'private address', '--allow-private-endpoints'],
      [bot({ endpoint: 'ftp://example.org/' }), 400, 'http:// or https:// URL'],
      [bot({ endpoint: 'https://name:hunter2@example.org/' }), 400, 'credentials'],
      [bot({ format: 'slack' }), 400, 'format must be annex or zulip', "'slack'"],
      [bot({ username: 'a b' }), 400, 'username takes', "'a b'"],
      [post('/api/bots', U, { name: 'x' }), 400, 'username is missing'],
      [post('/api/evaluations', U, { bot: s.bot, measure: 'guess' }), 400, 'measure must be cosine', "'guess'"],
      [['POST', `/api/bots/${s.bot}/deliveries/${s.delivery}`, { headers: { 'x-caller-key': s.key }, body: { Message: 'lost' } }], 400, '"message"', 'correct its spelling'],
      [post('/api/workflows/questions/7', U, { approve: true }), 400, 'approved is missing'],
      [post('/api/workflows/questions/7', U, { Approved: true }), 400, "there is 'Approved'"],
      [post('/api/workflows/questions/7', U, { approved: true, Corrections: {} }), 400, "corrections is missing, but there is 'Corrections'"],
      [post('/api/workflows/questions/7', U, { approved: true, corrections: [] }), 400, 'corrections must be an object'],
    ];
  },

  'parameters': (s) => [
    [get('/api/check-query', F, { Seq: 1 }), 400, 'Topic is missing from the query string'],
    [get('/api/check-query', F, { topic: s.Topic, Seq: 1 }), 400, "Topic is missing, but there is 'topic'"],
    [get('/api/check-query', F, { Topic: s.Topic }), 400, 'Seq is missing from the query string'],
    [get('/api/check-query', F, { Topic: s.Topic, Seq: 'one' }), 400, 'Seq must be a whole number', "'one'"],
    [get('/api/check-query', F, { Topic: s.Topic, Seq: 1, Wait: 'long' }), 400, 'Wait must be', "'long'"],
    [get('/api/check-query', F, { Topic: s.Topic, Seq: HTML }), 400, 'Seq must be'],
    [['GET', '/api/check-query', { as: F, body: { Topic: s.Topic, Seq: 1 } }], 400, 'Topic is missing', 'does not read a body'],
    [get('/api/check-query', F, { Topic: 'x'.repeat(200), Seq: 1 }), 400, '200 bytes'],
    [get('/api/user-topics', F), 400, 'OnBehalfOf is missing from the query string', 'role frontend'],
    [get('/api/user-topics', F, { onBehalfOf: 'alice' }), 400, "there is 'onBehalfOf'"],
    [get('/api/user-topics', F, { OnBehalfOf: '' }), 400, 'OnBehalfOf is empty'],
    [get('/api/user-topics', F, { OnBehalfOf: 'alice', after: 'x' }), 400, 'after must be the cursor', "'x'"],
    [get('/api/user-topics', F, { OnBehalfOf: 'alice', limit: 0 }), 400, 'limit must be', "'0'"],
    [get('/api/find-topics', F, { OnBehalfOf: 'alice' }), 400, 'Text is missing'],
    [['PUT', '/api/rename-topic', { as: F, query: { OnBehalfOf: 'alice', Topic: s.Topic } }], 400, 'Description is missing'],
    [['GET', '/api/check-query', { as: F, raw: 'Topic=%zz' }], 400, '%-escapes'],
    [get('/api/get-new-queries', E, { Wait: -1 }), 400, 'Wait must be', "'-1'"],
    [get('/api/get-new-queries', E, { Wait: 0, Engine: 'e'.repeat(65) }), 400, 'Engine', '64 bytes, not 65'],
    [get('/api/get-new-queries', E, { Wait: 0, Models: 'm'.repeat(300) }), 400, 'Models', '256 bytes, not 300'],
    [get('/api/get-new-queries', E, { Leave: 'true' }), 400, 'need Engine'],
    [get('/api/queue', O, { State: 'open' }), 400, 'State must be Open, Pending or Failed', "'open'"],
    [get('/api/queue', O, { State: 'Open', After: 'x' }), 400, 'After must be', "'x'"],
    [get('/api/audit', O, { Since: 'yesterday' }), 400, 'Since must be a time in UTC', "'yesterday'"],
    [['DELETE', '/api/recommendations', { as: O }], 400, 'Id is missing from the query string'],
    [get('/api/rooms', U, { limit: 5000 }), 400, 'limit must be', '1000', "'5000'"],
    [get('/api/workflows/questions', U, { status: 'new' }), 400, 'status must be open, answered or all', "'new'"],
    [get('/api/workflows/history', U, { status: 'new' }), 400, 'status must be running', "'new'"],
  ],

  'sizes': () => [
    [post('/api/add-query', F, 'x'.repeat(MIB + 1)), 413, 'POST /api/add-query takes at most 1 MiB', '1048577 bytes'],
    [['POST', '/api/add-query', { as: F, body: 'x'.repeat(2 * MIB) }], 413, '2097152 bytes'],
    [['POST', '/api/add-query', { as: F, body: 'x'.repeat(MIB + 1), chunked: true, headers: { 'Transfer-Encoding': 'chunked' } }], 413, 'takes at most 1 MiB'],
    [post('/ask', undefined, 'x'.repeat(60_000)), 413, 'POST /ask takes at most 48 KiB', '60000 bytes'],
    [post('/api/rooms', U, 'x'.repeat(MIB + 1)), 413, 'POST /api/rooms takes at most 1 MiB'],
    [['POST', '/api/docs/upload', { as: U, body: 'x'.repeat(30 * MIB) }], 413, '/api/docs/upload takes at most', '31457280 bytes'],
    [['POST', '/api/docs/upload', { as: U, ...formOf({ name: 'a.txt', bytes: 'x'.repeat(25 * MIB + 1) }) }], 413, 'maximum is 25 MiB', '26214401 bytes'],
    [['GET', `/api/login?${'x'.repeat(40 * KIB)}`, {}], 414, 'request line'],
    [['GET', '/api/login', { headers: { 'x-long': 'x'.repeat(40 * KIB) } }], 431, 'headers'],
    [['POST', '/api/add-query', { as: F, body: '{}', headers: { 'Content-Encoding': 'gzip' } }], 415, 'compressed', 'Content-Encoding'],
  ],

  'conflicts': (s) => [
    [post('/api/cancel-query', F, { Topic: s.done, Seq: 1 }), 409, `Query 1 of topic '${s.done}' has already been answered`],
    [post('/api/give-new-answer', E, { Topic: s.done, Seq: 1, Query: s.Query, Answer: ['other'] }), 409, 'already been answered', 'drop this answer'],
    [post('/api/give-new-answer', E, { Topic: s.cancelled, Seq: 1, Query: s.Query, Answer: ['late'] }), 409, 'was cancelled', 'drop this answer'],
    [post('/api/give-new-answer', E, { Topic: s.Topic, Seq: 1, Query: 'Another text?', Answer: ['a'] }), 409, 'Query text'],
    [post('/api/give-partial', E, { Topic: s.Topic, Seq: 1, Lease: '999999', Offset: 0, Answer: 'a' }), 409, 'lease', 'another engine'],
    [post('/api/give-partial', E, { Topic: s.Topic, Seq: 1, Lease: s.Lease, Offset: 50, Answer: 'a' }), 409, 'before Offset 50', '`expected`'],
    [post('/api/extend-claim', E, { Topic: s.Topic, Lease: '999999' }), 409, 'lease'],
    [post('/api/retry-query', O, { Topic: s.Topic, Seq: 1 }), 409, `Query 1 of topic '${s.Topic}' is open or claimed`],
    [post('/api/retry-query', O, { Topic: s.done, Seq: 1 }), 409, 'already been answered'],
    [post('/api/bots', U, { username: s.bot }), 409, `name '${s.bot}' is taken`],
    [post('/api/bots', U, { username: 'annex' }), 409, "name 'annex' is taken"],
    [post('/api/evaluations', U, { bot: s.bot, conversation: [] }), 409, 'pulls'],
    [post('/api/add-query', F, { Topic: newTopic(), User: 'alice', Query: 'Another?' }, { headers: { 'Idempotency-Key': s.idempotency } }), 422, 'Idempotency-Key', 'new key'],
    [['GET', `/api/bots/${s.called}/deliveries`, { headers: { 'x-caller-key': s.calledKey } }], 409, 'has an endpoint', 'pulls nothing'],
  ],

  'limits': (s) => [
    [post('/api/add-query', 'Frontend_small', { Topic: newTopic(), User: 'eve', Query: 'Why?' }), 429, 'This user has', '3 are waiting', 'max_waiting'],
    [['GET', '/api/login', { query: sign(U, 'wrong'), localAddress: s.guesser }], 429, 'failed logins', 'this account', 'this address'],
  ],
};

suite('messages', { nodes: 1, sweep: false, accounts: { ...ACCOUNTS, Acme_1: { secret: 'acme-secret', role: 'frontend', namespace: 'acme' } }, args: ['--allow-private-endpoints', 'off'] }, ({ test, cluster }) => {
  const s = { Query: 'What is the meaning of life?', guesser: '127.8.0.1', used: sign(U, secret(U), { nonce: newNonce() }), idempotency: newNonce() };
  const register = async (body) => assertOk(await cluster.request('POST', '/api/bots', { as: U, body }), 201);

  before(async () => {
    for (const name of ['done', 'cancelled', 'Topic']) {
      s[name] = newTopic(name);
      await cluster.add({ Topic: s[name] });
      const claim = await cluster.claim({ detail: true });
      s.Lease = claim.Lease;
      if (name === 'done') await cluster.answer({ Topic: s.done, Seq: 1, Lease: s.Lease });
      if (name === 'cancelled') assertOk(await cluster.request('POST', '/api/cancel-query', { as: F, body: { Topic: s.cancelled, Seq: 1 } }));
    }
    await cluster.add({ headers: { 'Idempotency-Key': s.idempotency } });
    for (let i = 0; i < 3; i++) await cluster.add({ as: 'Frontend_small', User: 'eve' });
    s.token = assertOk(await cluster.request('GET', '/api/login', { as: U })).Token;
    assertOk(await cluster.request('GET', '/api/login', { query: s.used }));
    for (let i = 0; i < 10; i++) await cluster.request('GET', '/api/login', { query: sign(U, 'wrong'), localAddress: s.guesser });
    s.room = assertOk(await cluster.request('POST', '/api/rooms', { as: U, body: { name: 'Kitchen' } }), 201).id;
    ({ username: s.bot, caller_key: s.key } = await register({ username: 'coach' }));
    ({ username: s.called, caller_key: s.calledKey } = await register({ username: 'called', endpoint: 'https://example.org/' }));
    const said = assertOk(await cluster.request('POST', `/api/rooms/${s.room}/messages`, { as: U, body: { text: '@coach hello' } }), 201);
    assert.deepEqual(said.tagged, ['coach']);
    const pulled = await cluster.request('GET', `/api/bots/${s.bot}/deliveries`, { query: { Wait: 30 }, headers: { 'x-caller-key': s.key } });
    s.delivery = assertOk(pulled).id;
  });

  let n = 0;
  for (const [subject, rows] of Object.entries(ROWS)) {
    test(`${subject}: each mistake is named, with what to do about it`, async () => {
      for (const [request, status, ...words] of rows(s)) {
        await assertMistake(cluster, request, status, ...words);
        n++;
      }
    });
  }

  test('there are as many rows as this file promises', () => assert.ok(n >= 200, `${n} rows`));

  test('what belongs to others reads like what does not exist', async () => {
    const detail = async (request, name) => (await cluster.request(...request)).json.detail.replaceAll(name, 'NAME');
    for (const [path, query] of [['/api/check-query', { Seq: 1, Wait: 0 }], ['/api/get-topic-thread', {}], ['/api/get-lookups', {}]]) {
      const of = (as, Topic) => detail(get(path, as, { ...query, Topic }), Topic);
      assert.equal(await of('User_2', s.Topic), await of('User_2', 'gone'), path);
      assert.equal(await of('Acme_1', s.Topic), await of('Acme_1', 'gone'), path);
    }
    const of = (as, room) => detail(get(`/api/rooms/${room}/messages`, as, { OnBehalfOf: 'a' }), room);
    assert.equal(await of('Acme_1', s.room), await of('Acme_1', HEX24));
  });

  test('a partial answer without text and unknown members still renews the lease', async () => {
    const body = { Topic: s.Topic, Seq: 1, Lease: s.Lease, Offset: 0 };
    assert.equal(assertOk(await cluster.request('POST', '/api/give-partial', { as: E, body })).Next, 0);
    assertOk(await cluster.request('POST', '/api/give-partial', { as: E, body: { ...body, Answer: 'a', Extra: 'ignored' } }));
  });

  test('frames of a workflow socket are told what is wrong with them', async () => {
    const client = await openWorkflow(cluster, { as: U });
    const ids = { session_id: 's', request_id: 'r' };
    for (const [frame, ...words] of [
      ['{', 'not JSON'],
      ['[]', 'not a JSON object'],
      [{ ...ids }, 'type is missing'],
      [{ ...ids, Type: 'request' }, "type is missing, but there is 'Type'"],
      [{ ...ids, type: 'question' }, 'type must be', "'question'"],
      [{ ...ids, type: HTML }, 'type must be'],
      [{ type: 'request', session_id: 's', RequestId: 'r' }, "request_id is missing, but there is 'RequestId'"],
      [{ type: 'request', request_id: 'r' }, 'session_id is missing'],
      [{ ...ids, type: 'request', verb: 'RULES', messageBody: { raw_text: 'x' } }, "no verb 'RULES'", 'RULE', 'CONTENT'],
      [{ ...ids, type: 'request', verb: 'RULE', nextAgent: 'model.Nobody' }, "no agent 'model.Nobody'"],
      [{ ...ids, type: 'request', verb: 'RULE', nextAgent: 'model.verifySQL' }, "begin at 'model.verifySQL'"],
      [{ ...ids, type: 'request' }, 'verb is missing'],
      [{ ...ids, type: 'resume' }, "no run 'r'"],
      [{ ...ids, type: 'response' }, 'hitl_response is missing'],
      [{ ...ids, type: 'response', Hitl_Response: {} }, "there is 'Hitl_Response'"],
      [{ ...ids, type: 'response', hitl_response: { approved: 'yes' } }, 'approved must be true or false'],
      [{ ...ids, type: 'response', hitl_response: { approved: true, Corrections: {} } }, "corrections is missing, but there is 'Corrections'"],
    ]) {
      client.send(frame);
      const { type, reason, returnCode } = await client.next();
      assert.deepEqual([type, returnCode], ['error', -1], JSON.stringify(frame));
      for (const word of words) assert.ok(reason.includes(word), `${JSON.stringify(frame)}: ${reason}\n  lacks: ${word}`);
      assert.ok(!reason.includes('<img'), reason);
    }
    await client.close();
  });

  test('frames of a room are told what is wrong with them', async () => {
    const socket = await openRoom(cluster, s.room);
    for (const [frame, ...words] of [
      ['{', 'not a JSON object'],
      ['7', 'not a JSON object'],
      [{}, 'text is missing', '65536 bytes'],
      [{ Text: 'hi' }, "text is missing, but there is 'Text'"],
      [{ text: 7 }, 'text must be', 'not 7'],
      [{ text: 'x', reply_to: HTML }, 'reply_to must be'],
      [{ text: 'x', reply_to: '1-1' }, "no message '1-1'"],
      [{ text: 'x', tagged: 'ghost' }, 'tagged must be', "'ghost'"],
      [{ text: 'x', tagged: ['ghost'] }, "'ghost'"],
    ]) {
      socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
      const { error } = await socket.next();
      for (const word of words) assert.ok(error.detail.includes(word), `${JSON.stringify(frame)}: ${error.detail}\n  lacks: ${word}`);
      assert.ok(!error.detail.includes('<img'), error.detail);
    }
    await socket.close();
  });
});
