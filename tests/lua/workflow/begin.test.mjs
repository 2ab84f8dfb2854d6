// SPDX-License-Identifier: MIT
//
// workflow_begin, workflow_find, workflow_load, workflow_file: how a run begins, and how it is found again.
import assert from 'node:assert/strict';
import { ago, lines, scripts, soon, ttl, zset } from '../../support/lua.mjs';
import { ALICE, began, begin, BOB, FILE, keysOf, LEASE_MS, OPEN_MAX, runKeys, SESSION_MAX, stepped } from '../../support/lua_workflow.mjs';

const watched = (...nodes) => ttl(60, zset(Object.fromEntries(nodes.map((node) => [node, soon(60_000)]))));
const one = { run: 1000 };
// The key of the run that has just begun is not known before.
const newest = async (shard, session = ALICE) => shard.cmd('HGET', shard.key(`wf:${session}`), 'last');

scripts('workflow_begin', ({ cases, test, shard }) => {
  test('a run is stored with its lease, and listed for its user', async () => {
    const before = Date.now();
    const { replies: [reply], events } = await shard.turn([begin()]);
    const run = await newest(shard);
    assert.equal(reply, lines('begun', run, 1));
    assert.deepEqual(events, []);
    assert.ok(Math.abs(Number(run) - before) < 20_000);
    const own = runKeys({ run });
    Object.assign(own[`wfr:${ALICE}.${run}`], { created: ago(), updated: ago() });
    await shard.assertKeys({
      ...own,
      meta: { lease: 1, depth: 0, vt: '0.000000' },
      [`wf:${ALICE}`]: { account: 'F', user: 'alice', session_id: 's1', last: run, runs: 1, 'id:r1': run },
      'wf_due:F:alice': zset({ [`${ALICE}.${run}`]: soon(LEASE_MS) }),
      'wf_of:alice': zset({ [`${ALICE}.${run}`]: run }),
      wf_open: { 'F alice': 1 },
      'wf_file:v1': { text: FILE, runs: 1 },
      wf_files: zset({ v1: ago() }),
      [`wfw:${ALICE}`]: watched('n1'),
    });
  });

  cases([
    { name: 'a request id that the session knows begins nothing, and the node watches', before: () => keysOf(one), call: begin(), reply: lines('known', 1000), after: { [`wfw:${ALICE}`]: watched('n1') } },
    { name: 'a request id of an echo is known, too', before: () => keysOf({ ...one, ids: 'r1 r2' }), call: begin({ request: 'r2' }), reply: lines('known', 1000), after: { [`wfw:${ALICE}`]: watched('n1') } },
    { name: 'a known request is known to a session that is full, and without its file', before: () => ({ ...keysOf(one), [`wf:${ALICE}`]: { ...keysOf(one)[`wf:${ALICE}`], runs: SESSION_MAX } }), call: begin({ version: 'v9', file: '' }), reply: lines('known', 1000), after: { [`wfw:${ALICE}`]: watched('n1') } },
    { name: 'a file that the shard does not know is asked for, and nothing stored', call: begin({ file: '' }), reply: 'version' },
    { name: 'a file whose text was lost is asked for, too', before: () => ({ 'wf_file:v1': { runs: 3 } }), call: begin({ file: '' }), reply: 'version' },
    { name: 'a session of 1,000 runs is full', before: () => ({ ...keysOf(one), [`wf:${ALICE}`]: { ...keysOf(one)[`wf:${ALICE}`], runs: SESSION_MAX } }), call: begin({ request: 'r2' }), reply: lines('full', 'session') },
    { name: 'an account and user with 100 unfinished runs begins none', before: () => ({ ...keysOf(one), wf_open: { 'F alice': OPEN_MAX } }), call: begin({ request: 'r2' }), reply: lines('full', 'open') },
    { name: 'past the limit of the account nothing is stored but the file', before: () => ({ stored: { F: 131_072, 'F bob': 131_072 } }), call: begin({ max: 131_072 }), reply: lines('stored', 131_072, 131_072, 'account'), after: { 'wf_file:v1': { text: FILE, runs: 0 }, wf_files: zset({ v1: ago() }) } },
    { name: 'past the limit of the user, too', before: () => ({ ...keysOf(one), stored: { F: 65_536, 'F alice': 8192 } }), call: begin({ request: 'r2', max: 1e9, maxOfUser: 8192 }), reply: lines('stored', 8192, 8192, 'user') },
  ]);

  test('an account with a limit is charged for whole blocks', async () => {
    const body = JSON.stringify('x'.repeat(5000));
    await began(shard, { body, max: 1e9 });
    assert.deepEqual(await shard.get('stored'), { F: '65536', 'F alice': '8192' });
    assert.equal((await shard.get(`wfr:${ALICE}.${await newest(shard)}`)).is_counted, '1');
  });

  test('others\' unfinished runs do not count: another user, another account', async () => {
    await shard.seed({ wf_open: { 'F alice': OPEN_MAX } });
    assert.match(await shard.call(...begin({ user: 'bob', session: BOB })), /^begun/);
    assert.match(await shard.call(...begin({ account: 'G', session: 'c'.repeat(32) })), /^begun/);
    assert.equal(await shard.call(...begin()), lines('full', 'open'));
  });

  test('two nodes begin the same request: one run', async () => {
    const [a] = (await shard.turn([begin()], { node: 'n1' })).replies;
    const [b] = (await shard.turn([begin()], { node: 'n2' })).replies;
    assert.equal(b, lines('known', a.split('\n')[1]));
    assert.equal((await shard.get(`wf:${ALICE}`)).runs, '1');
    assert.deepEqual(Object.keys((await shard.get(`wfw:${ALICE}`)).value), ['n1', 'n2']);
  });

  test('a thousand runs of a session, begun in the same turns, have rising numbers and fences; the next one is refused', async () => {
    const runs = [];
    for (let i = 0; i < SESSION_MAX; i += 50) {
      const { replies } = await shard.turn(Array.from({ length: 50 }, (_, k) => begin({ request: `r${i + k}` })));
      const some = replies.map((reply) => reply.split('\n'));
      runs.push(...some);
      await shard.turn(some.map(([, run, fence]) => ['workflow_step', ALICE, run, fence, 1, 'done', '', '', 0, '{}', '{}', '{}', '', '', '', '']));
    }
    assert.equal(new Set(runs.map(([, run]) => run)).size, SESSION_MAX);
    for (let i = 1; i < runs.length; i++) assert.ok(Number(runs[i][1]) > Number(runs[i - 1][1]) && Number(runs[i][2]) > Number(runs[i - 1][2]), `run ${i}`);
    assert.equal(await shard.call(...begin({ request: 'one more' })), lines('full', 'session'));
    for (const i of [0, 500, 999]) assert.match(await shard.call('workflow_find', ALICE, `r${i}`), new RegExp(`^ok\n${runs[i][1]}\ndone\n1\n$`));
  });

  test('a user who was deleted and comes back gets numbers that were not used before', async () => {
    const first = await began(shard);
    assert.equal(await shard.call('workflow_delete', 0, 'alice'), lines('done', 1));
    for (let ms = 0; ms <= first.run; ) ms = Number((await shard.cmd('TIME'))[0]) * 1000 + Math.floor(Number((await shard.cmd('TIME'))[1]) / 1000);
    const second = await began(shard);
    assert.ok(Number(second.run) > Number(first.run));
    assert.ok(Number(second.fence) > Number(first.fence));
  });

  test('a file is known after its first run, and each version is kept for its own runs', async () => {
    await began(shard);
    await began(shard, { request: 'r2', file: '' });
    await began(shard, { request: 'r3', version: 'v2', file: 'new' });
    assert.equal(await shard.call('workflow_file', ALICE, 'v1'), lines('ok', FILE));
    assert.equal(await shard.call('workflow_file', ALICE, 'v2'), lines('ok', 'new'));
    assert.equal(await shard.call('workflow_file', ALICE, 'v3'), 'missing');
    assert.deepEqual([(await shard.get('wf_file:v1')).runs, (await shard.get('wf_file:v2')).runs], ['2', '1']);
  });
});

scripts('workflow_find and workflow_load', ({ cases, test, shard }) => {
  const asked = { ...one, status: 'waiting', fence: 4, ids: 'r1 r2', frames: ['{"seq":1}', '{"seq":2}'], records: ['{}', '{}'], questions: { 1: { status: 'rejected', approvers: 'a.F', who: '{}', closed: 1500 }, 2: { deadline: 9e12, quorum: 2, approvals: 1, answers: 1 } }, answers: ['{"step":1}', '{"step":2}'] };
  const load = (...middle) => lines('ok', ...middle);
  cases([
    { name: 'a session that nobody began', call: ['workflow_find', ALICE, 'r1'], reply: 'missing' },
    { name: 'a request id of another session', before: () => keysOf(one), call: ['workflow_find', BOB, 'r1'], reply: 'missing' },
    { name: 'a run without a question', before: () => keysOf(one), call: ['workflow_find', ALICE, 'r1'], reply: lines('ok', 1000, 'running', 0, '') },
    { name: 'a waiting run, by its first id', before: () => keysOf(asked), call: ['workflow_find', ALICE, 'r1'], reply: lines('ok', 1000, 'waiting', 2, 2) },
    { name: 'the same, by the id of an echo', before: () => keysOf(asked), call: ['workflow_find', ALICE, 'r2'], reply: lines('ok', 1000, 'waiting', 2, 2) },
    { name: 'a run that does not exist cannot be loaded', before: () => keysOf(one), call: ['workflow_load', ALICE, 1001], reply: 'missing' },
    { name: 'a new run', before: () => keysOf(one), call: ['workflow_load', ALICE, 1000], reply: load('running', 'RULE', 'v1', 'model.Capo', 0, 0, 0, 1, 'F', 'alice', 's1', 'r1', 1000, 1000, '', '', '', '', '', '', '', '{"n":0}') },
    { name: 'with its newest question and the answers to that one', before: () => keysOf(asked), call: ['workflow_load', ALICE, 1000], reply: load('waiting', 'RULE', 'v1', 'model.Capo', 0, 2, 2, 4, 'F', 'alice', 's1', 'r2', 1000, 1000, 2, 'open', 9e12, 2, 1, '{"q":1}', '[{"step":2}]', '{"n":0}') },
  ]);

  test('what a step stored is what the next node loads', async () => {
    const r = await began(shard, { verb: 'GENERIC' });
    assert.equal(await stepped(shard, r, { verb: 'CONTENT', agent: 'model.two', attempt: 2, frame: '', body: '{"a":["b"]}' }), lines('ok', 0));
    assert.equal(await stepped(shard, r, { agent: 'model.three', body: '{"c":1}', frame: '{"seq":1}' }), lines('ok', 1));
    const got = (await shard.call('workflow_load', ALICE, r.run)).split('\n');
    assert.deepEqual(got.slice(0, 9), ['ok', 'running', 'CONTENT', 'v1', 'model.three', '0', '2', '1', r.fence]);
    assert.equal(got.at(-1), '{"c":1}');
    assert.equal(got.length, 23);
  });
});
