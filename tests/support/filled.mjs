// SPDX-License-Identifier: MIT
//
// filled: a shard with everything that a cluster knows, by the verbs alone: topics in each state, what hangs on them,
// documents in each state. For tests of what copies it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { BOB, docId, Indexer, packOf, shaOf, upload } from './lua_documents.mjs';
import { lines, tailOf } from './lua.mjs';
import { create, lookOf, post, postedOf } from './lua_rooms.mjs';
import { answer, began, frameOf, stepped } from './lua_workflow.mjs';

const ANSWER = lines('["yes"]', 'null', 'null'), FACTS = '"FinishReason":"stop","Usage":{"prompt_tokens":7,"completion_tokens":2}';
export const ANY_BYTES = String.fromCharCode(...Array(256).keys());

export const add = (shard, topic, { user = 'alice', account = 'Frontend_1', model = 'default', query = 'Why?', idem = '', digest = '', replaces = '' } = {}) =>
  shard.call('add', 0, topic, user, account, model, 1, 1e6, tailOf({ user, model, query }), idem, digest, '', '', '', 2 ** 40, '', replaces);

// The claim whose turn it is, whichever form its text has: topic and lease.
export async function take(shard, models = '*') {
  const text = await shard.call('claim', 0, `Inference_1|${models}`, '0');
  if (text === 'empty') return undefined;
  const words = text.split('\n');
  const at = words.indexOf(`Inference_1|${models}`);
  return { topic: words[at + 1], lease: words[at + 2], seqs: words.slice(at + 5).filter((_, i) => i % 8 === 0) };
}

export const complete = (shard, topic, seq, lease, query = 'Why?') =>
  shard.call('complete', 0, topic, seq, lease, 'Inference_1', JSON.stringify(query), ANSWER, '', '', '', '', '', FACTS);

// Topics in each state, with everything that hangs on them.
export async function fillQueue(shard) {
  for (const topic of ['done', 'cancelled', 'failed', 'partly', 'many', 'retried']) await add(shard, topic, { model: topic });
  await add(shard, 'many', { model: 'many', user: 'bob', query: 'And?' });
  await add(shard, 'many', { model: 'other', query: 'Else?' });
  await add(shard, 'replaced', { model: 'replaced' });
  for (const replaces of ['1', '2']) await add(shard, 'replaced', { model: 'replaced', query: `Why, after ${replaces}?`, replaces });
  await shard.cmd('HSET', shard.key('models_seen'), 'chat/m', `${Date.now()} E `);
  for (const seq of [1, 2])
    assert.match(await shard.call('door_add', 0, 'responses', `r${seq}`, `e${seq}`, 'alice', 'Frontend_1', 'chat/m', 1, 1e6, tailOf({ user: 'alice', model: 'm', query: 'Why?' }), '"{}"', '', '', '"{}"', 2, '1', '', 2 ** 40, ''), /^ok/);
  const response = await take(shard, 'chat/m');
  assert.match(await shard.call('complete', 0, 'responses', 1, response.lease, 'Inference_1', '', ANSWER, '', '', '', '', '', '', '{"a":1}', 0), /^ok/);
  assert.equal(await shard.call('response_keep', 'responses', 1, ANY_BYTES), 'ok');
  assert.equal(await shard.call('response_cancel', 0, 'responses', 2, 'Frontend_1', 'alice', 'r2'), 'ok');
  await shard.cmd('DEL', shard.key('models_seen')); // it is no model that an engine names
  const one = await take(shard, 'done');
  assert.match(await complete(shard, 'done', 1, one.lease), /^ok/);
  await take(shard, 'cancelled');
  assert.match(await shard.call('cancel', 0, 'cancelled', 1, '', '"enough"'), /^ok/);
  const failing = await take(shard, 'failed');
  assert.equal(await shard.call('release', 0, 'failed', failing.lease, 'Inference_1', '', '"tired"', 'fail'), 'ok');
  const partly = await take(shard, 'partly');
  assert.match(await shard.call('partial', 0, 'partly', 1, partly.lease, 0, 'hm', 'well', 1000, 'Inference_1', 'first', FACTS), /^ok/);
  await take(shard, 'many');
  for (let i = 0; i < 2; i++) {
    const again = await take(shard, 'retried');
    assert.equal(await shard.call('release', 0, 'retried', again.lease, 'Inference_1', '', '"tired"', 'retry'), 'ok');
  }
  await add(shard, 'away', { model: 'away' });
  for (let i = 0; i < 3; i++) {
    const away = await take(shard, 'away');
    assert.equal(await shard.call('release', 0, 'away', away.lease, 'Inference_1', '', '"gone"', 'away'), 'ok');
  }
  await add(shard, 'open', { idem: 'key%201', digest: 'abcd' });
  await add(shard, 'acme~inbox', { user: 'acme~bob', account: 'acme~F', model: 'later', query: 'A long question. '.repeat(100) });
  await add(shard, 'acme~inbox', { user: 'acme~bob', account: 'acme~F' });
  await add(shard, 'acme~inbox', { user: 'acme~bob', account: 'acme~F', model: 'later' });
  await add(shard, 'bytes', { query: 'Ω\u0000\u001f"' });
  await shard.cmd('HSET', shard.key('t:open'), 'a-later-field', ANY_BYTES);
  assert.equal(await shard.call('rename', 0, 'alice', 'open', '"My topic"'), 'ok');
  assert.match(await shard.call('ask', 'd1', 'ask-1', 'Parley', 'Parley', 'asked', 1, tailOf({ query: 'Sum up' })), /^ok/);
  assert.match(await shard.call('ask', 'd1', 'ask-2', 'Parley', 'Parley', 'asked', 1, tailOf({ query: 'Sum up' })), /^joined/);
  assert.match(await shard.call('ask', '', 'ask-3', 'Parley', 'Parley', 'asked', 1, tailOf({ query: 'Alone' })), /^ok/);
}

export async function fillRest(shard) {
  for (const [n, topic] of [[1, 'open'], [2, 'open'], [2, 'done'], [3, 'done']]) {
    const fingerprint = createHash('sha1').update(String(n)).digest('hex');
    assert.match(await shard.call('add_lookup', 0, topic, 1, '', fingerprint, `${fingerprint.slice(1)}0`, `"fragment ${n}"`, 5, 0.5, n === 2 ? 'acme~F' : 'Frontend_1', 1000), /^ok/);
  }
  const got = (await shard.call('claim_lookup', 0, 'E|?', '0')).split('\n');
  assert.equal(await shard.call('match', 0, got[2], '["found"]'), 'ok');
  await shard.call('claim_lookup', 0, 'E|?', '0');
  for (let i = 0; i < 300; i++) assert.match(await shard.call('recommend', 0, 'open', 'alice', `{"n":${i}}`, i % 3 ? 'Frontend_1' : 'acme~F', i % 2 ? 'alice' : 'acme~bob', '', '', '', i % 5 ? '' : `d${i % 2}`, ''), /^ok/);
  await shard.call('drain', 0, 'Inference_2', '1');
  await shard.call('key', 'ab'.repeat(32));
  assert.match(await shard.call('failure', 10, 65_546, 60), /^1\n/);
  await shard.call('supersede', 0, 'Inference_1', 'gpu', '7');
  assert.equal(await shard.call('away', 0, 'Inference_1', 'rests', 60_000, ',"Models":"*"}'), 'ok');
  await shard.call('sync', '{}', 3, 4, 1, 'Inference_1|*', 0, 0, 0, '', 'Inference_1 gpu', '{}');
  await shard.turn([['nonce', 1]], { nonces: [ANY_BYTES.slice(0, 16), ANY_BYTES.slice(16, 32)] });
  await shard.call('rates', 'Frontend_1', 100, 3);
  assert.match(await shard.call('budget_take', 0, 'Frontend_1', 'one', 100, 1000, 10), /^ok/);
  assert.equal(await shard.call('budget_charge', 'Frontend_1', 'n1', 'one', 5), 'ok');
  assert.equal(await shard.call('audit_note', 'operator', '', '{"Event":"drained"}'), 'ok');
  const days = await shard.cmd('KEYS', shard.key('nonces:*'));
  for (const key of days) await shard.cmd('EXPIRE', key, 172_800);
}

// Documents in each state, by verbs; the engine's own are made by a node.
export async function fillDocuments(shard, { vectors = 'exact' } = {}) {
  const indexer = new Indexer(shard);
  const limits = 'upload:bob:100:3600';
  const put = async (n, space = BOB, path = '', bytes = `bytes ${n} ${ANY_BYTES}`, account = undefined) =>
    assert.match(await upload(shard, { n, space, limits, bytes, cap: 1e7, path, account }), /^ok/);
  await indexer.group();
  await put(1);
  await indexer.index({ blocks: ['block', ANY_BYTES], vectors, digest: 'abc', chunks: 3, pack: packOf([0, 10], [10, 20], [20, 30]) });
  await put(2, 'c:book', 'guide%2Fa.md');
  await indexer.index();
  await put(3);
  assert.equal(await shard.call('job_fail', ...Object.values((({ job, lease }) => ({ job, lease }))(await indexer.take())), '"It is empty."'), 'ok');
  await put(4);
  const passed = await indexer.take();
  assert.equal(await shard.call('job_pass', passed.job, passed.lease, '"Waiting."'), 'ok');
  await put(5);
  await indexer.parsed(await indexer.take());
  await put(10, 'o:dave', '', 'It was given back for later.');
  assert.equal(await shard.call('job_release', ...Object.values((({ job, lease }) => ({ job, lease }))(await indexer.take())), 3_600_000, '"Later."'), 'ok');
  await put(6, 'o:carol', '', 'It was queued when the backup was made.', 'F');
  for (const n of [8, 9, 11]) await put(n, 'o:carol', '', `It waited for the turn of its space, as number ${n}.`);
  await put(13, 'o:erin', '', 'It waits for the turn of its account, and is larger than a block. '.repeat(42_000), 'F');
  assert.equal(await shard.call('upload_begin', 0, 'o:erin', '', docId(14), '"f"', 1, shaOf(14), 1e7, '', ''), 'ok\n', 'and its blocks never come');
  await put(12, 'o:acme~carol', '', 'It is of an account with a namespace.');
  await upload(shard, { n: 7, space: 'c:book', filename: '"a.md"', type: 'text/markdown', bytes: 'other bytes', cap: 1e7, path: 'guide%2Fa.md' });
}

// Runs of workflows in each state, of sessions that several shards have.
export async function fillRuns(shard) {
  const session = (n) => createHash('md5').update(`session ${n}`).digest('hex');
  const wait = (run, approvers, more) => stepped(shard, run, { status: 'waiting', approvers, ...more });
  const decide = async (run, given) => {
    const [reply] = (await shard.turn([answer({ session: run.session, run: run.run, step: run.step, as: ['a.F', 'r.chief'], ...given })])).replies;
    run.fence = /^decided\n(\d+)\n/.exec(reply)?.[1] ?? run.fence;
    return reply;
  };
  const done = await began(shard, { session: session(1), request: 'first', max: 1e9 });
  for (let i = 0; i < 3; i++) assert.match(await stepped(shard, done), /^ok/);
  assert.match(await wait(done, ['a.F', 'r.chief'], { quorum: 2 }), /^ok/);
  assert.match(await decide(done, { corrections: '{"sql_query":"SELECT 1"}', before: '{"sql_query":"SELECT 2"}', comment: '"Ω"' }), /^counted/);
  assert.match(await decide(done, { account: 'G' }), /^decided/);
  assert.match(await wait(done, ['r.chief']), /^ok/);
  assert.match(await decide(done, { isApproved: false }), /^decided/);
  assert.match(await stepped(shard, done, { status: 'rejected', frame: frameOf(4) }), /^ok/);
  for (const [n, approvers, deadline] of [[2, ['a.F'], ''], [3, ['r.chief', 'a.F'], 3_600_000], [4, ['o.me'], '']]) {
    const run = await began(shard, { session: session(2), request: `r${n}`, account: 'acme~F', user: 'acme~bob', version: n === 4 ? 'v2' : 'v1' });
    assert.match(await stepped(shard, run), /^ok/);
    assert.match(await wait(run, approvers, { deadline }), /^ok/);
  }
  for (let n = 3; n < 12; n++) {
    const run = await began(shard, { session: session(n), request: 'r', max: n % 2 ? 1e9 : '' });
    assert.match(await stepped(shard, run, { frame: `{"text":"${'long '.repeat(20_000)}"}` }), /^ok/);
    if (n % 3 === 0) assert.match(await stepped(shard, run, { status: 'done' }), /^ok/);
    if (n === 4) assert.match(await wait(run, ['a.F']), /^ok/);
    if (n === 4) assert.match(await decide(run), /^decided/);
  }
}

// Files of OpenAI's interface, on homes that several shards have.
export async function fillFiles(shard) {
  for (let n = 0; n < 9; n++) {
    const [user, account] = n % 3 ? ['alice', 'F'] : ['acme~bob', 'acme~F'];
    const owner = createHash('md5').update(`${account} ${user} ${n % 2}`).digest('hex').slice(0, 24), file = createHash('md5').update(`file ${n}`).digest('hex').slice(0, 24);
    const max = n % 2 ? 1e9 : '';
    assert.equal(await shard.call('file_begin', 0, owner, account, user, file, 10, max, ''), 'ok');
    for (let i = 0; i <= n; i++) await shard.cmd('RPUSHX', shard.key(`pushed:${file}`), ANY_BYTES);
    assert.match(await shard.call('file_store', owner, account, user, file, n % 4 ? 'batch' : 'user_data', '"Ω.jsonl"', 256 * (n + 1), n + 1, n % 5 ? 86_400 : '', max, ''), /^ok/);
  }
}

// Batches in each state, on the homes of their files.
export async function fillBatches(shard) {
  for (let n = 0; n < 8; n++) {
    const [user, account] = n % 3 ? ['alice', 'F'] : ['acme~bob', 'acme~F'];
    const owner = createHash('md5').update(`${account} ${user} batches`).digest('hex').slice(0, 24), id = createHash('md5').update(`batch ${n}`).digest('hex').slice(0, 24);
    assert.equal(await shard.call('file_begin', 0, owner, account, user, id, 10, '', ''), 'ok');
    await shard.cmd('RPUSHX', shard.key(`pushed:${id}`), '{}');
    assert.match(await shard.call('file_store', owner, account, user, id, 'batch', '"in"', 2, 1, '', '', ''), /^ok/);
    assert.match(await shard.call('batch_create', 0, owner, account, user, id, id, '/v1/chat/completions', '{"a":"Ω"}', 86_400, 7200), /^ok/);
    if (n % 4 === 0) continue;
    for (const [taken, fence] of (await shard.call('batch_take', 20)).split('\n').flatMap((word, i, all) => (i % 4 ? [] : [[word, all[i + 1]]]))) {
      const batch = taken.split('-')[1], put = (line, kind) => shard.call('batch_put', taken.split('-')[0], batch, fence, '', 1e9, '', line, 10 * line, kind, `${kind} ${line} Ω\n`);
      assert.match(await shard.call('batch_check', taken.split('-')[0], batch, fence, 3, ''), /^ok/);
      for (const line of [0, 2]) assert.match(await put(line, line ? 'error' : 'output'), /^ok/);
      if (n % 4 === 1) assert.match(await put(1, 'output'), /^ok\ncompleted/);
      if (n % 4 === 2) assert.match(await shard.call('batch_end', taken.split('-')[0], batch, fence, 'cancelled', ''), /^ok/);
    }
  }
}

// Rooms with messages of people and bots, bots of each kind, and evaluations in each state, on homes that several shards have.
export async function fillRooms(shard) {
  const id = (what) => createHash('md5').update(what).digest('hex').slice(0, 24);
  const bot = async (name, namespace, endpoint, user) =>
    assert.equal(await shard.call('bot_register', 0, name, lookOf(name), '', namespace, id(name).slice(0, 16), JSON.stringify(name), '"Ada"', endpoint, 'annex', 'F', user, 'frontend'), 'ok\n1');
  await bot('coach', '%', 'https://bots.example.org/coach', 'alice');
  await bot('puller', '%', '', 'bob');
  await bot('acme~coach', 'acme', 'parley:default', 'acme~bob');
  for (let n = 0; n < 8; n++) {
    const room = id(`room ${n}`);
    assert.equal(await shard.call(...create({ room, namespace: '%', name: `Room ${n} Ω` })), 'ok');
    const first = postedOf(await shard.call(...post({ room, namespace: '%', text: 'Hello @coach and @puller', mentions: [['coach'], ['puller']], max: 1e9, maxOfUser: 1e9 })));
    for (let i = 0; i < n; i++) postedOf(await shard.call(...post({ room, namespace: '%', name: 'bob', whose: 'bob', text: `And ${i}`, replyTo: first.id, max: 1e9 })));
  }
  assert.equal(await shard.call(...create({ room: id('acme'), namespace: 'acme', user: 'acme~bob' })), 'ok');
  postedOf(await shard.call(...post({ room: id('acme'), namespace: 'acme', name: 'acme~bob', whose: 'acme~bob', text: 'Here' })));
  for (let n = 0; n < 6; n++) {
    const [, run, fence] = (await shard.call('evaluation_begin', 0, id(`evaluation ${n}`), '%', 'F', 'alice', 'coach', '"coach"', 'cosine', 3, '[{"from":"Bob"}]', n % 2 ? 1e9 : '', '')).split('\n');
    for (let at = 0; at < n % 4; at++) assert.match(await shard.call('evaluation_turn', id(`evaluation ${n}`), run, fence, at, `{"turn":${at + 1}}`, 'running', '{}'), /^ok/);
    if (n % 3 === 0) assert.match(await shard.call('evaluation_turn', id(`evaluation ${n}`), run, fence, n % 4, '', 'done', '{"n":1}'), /^ok/);
  }
}
