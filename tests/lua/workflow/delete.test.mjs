// SPDX-License-Identifier: MIT
//
// workflow_delete: nothing of a user's runs remains, no matter which node drives them. The library's second function: which verbs of a
// run continue while Redis is full.
import assert from 'node:assert/strict';
import { joined, lines, PREFIX, scripts, verbWord, zset } from '../../support/lua.mjs';
import { ALICE, answer, began, begin, BOB, keysOf, OVER, step, stepped } from '../../support/lua_workflow.mjs';

const drop = (user = 'alice') => ['workflow_delete', 0, user];
const FILES = ['wf_file:v1', 'wf_files'];
const session = (i) => i.toString(16).padStart(32, '0');

scripts('workflow_delete', ({ cases, test, shard }) => {
  const asked = { run: 1000, status: 'waiting', frames: ['{}'], records: ['{}', '{}'], answers: ['{}'], ids: 'r1 r2', questions: { 1: { status: 'rejected', approvers: 'a.F r.x', who: '{}', closed: 1500 }, 2: { approvers: 'a.F r.x', deadline: 9e12 } } };
  const gone = (keys, runs = 0) => ({ ...Object.fromEntries(Object.keys(keys).map((name) => [name, null])), wf_files: keys.wf_files, 'wf_file:v1': { ...keys['wf_file:v1'], runs } });
  cases([
    { name: 'nobody', call: drop(), reply: lines('done', 0) },
    { name: 'a run with its questions, answers and frames, and its session', before: () => keysOf(asked), call: drop(), reply: lines('done', 1), after: () => gone(keysOf(asked)) },
    { name: 'a run that a node drives', before: () => keysOf({ run: 1000 }), call: drop(), reply: lines('done', 1), after: () => gone(keysOf({ run: 1000 })) },
    ...OVER.map((status) => ({ name: `a run that is ${status}`, before: () => keysOf({ run: 1000, status }), call: drop(), reply: lines('done', 1), after: () => gone(keysOf({ run: 1000, status })) })),
    { name: 'nothing of others', before: () => ({ ...keysOf(asked), wf_open: { 'F alice': 1, 'F bob': 3 } }), call: drop('bob'), reply: lines('done', 0) },
    { name: 'the runs of all accounts that acted for that user', before: () => keysOf({ run: 1000 }, { session: BOB, account: 'G', run: 1000 }), call: drop(), reply: lines('done', 2), after: () => gone(keysOf({ run: 1000 }, { session: BOB, account: 'G', run: 1000 })) },
    { name: 'an id whose run is gone', before: () => ({ 'wf_of:alice': zset({ [`${ALICE}.1`]: 1 }) }), call: drop(), reply: lines('done', 1), after: { 'wf_of:alice': null } },
  ]);

  test('a user is deleted while a run is driven: the driver learns it with its next step, and brings nothing back', async () => {
    const r = await began(shard);
    await stepped(shard, r);
    assert.equal(await shard.call(...drop()), lines('done', 1));
    const { replies, events } = await shard.turn([
      step({ ...r, step: 2 }), step({ ...r, step: 1 }), step({ ...r, step: 2, status: 'waiting', approvers: ['a.F'] }), step({ ...r, step: 2, status: 'done' }),
      ['workflow_renew', `${ALICE}.${r.run}`, r.fence], ['workflow_load', ALICE, r.run], ['workflow_watch', ALICE, 'r1', 0], ['workflow_echo', ALICE, 'r9'],
      ['workflow_take', 10, ''], ['workflow_find', ALICE, 'r1'],
    ]);
    assert.deepEqual(replies, ['lost', 'lost', 'lost', 'lost', `${ALICE}.${r.run}`, 'missing', 'missing', 'none', '', 'missing']);
    assert.deepEqual(events, []);
    assert.deepEqual(await shard.names(), ['meta', ...FILES]);
  });

  test('a user with a thousand runs and many approvers is deleted in steps, and no driver carries on in between', async () => {
    const runs = [];
    for (let i = 0; i < 90; i++) {
      const r = await began(shard, { session: session(i), file: i ? '' : 'x' });
      for (let k = 0; k < 3; k++) {
        await stepped(shard, r, { status: 'waiting', approvers: Array.from({ length: 100 }, (_, j) => `a.${j}`) });
        if (k === 2) break;
        [, r.fence] = (await shard.call(...answer({ ...r, step: k + 1, account: '5' }))).split('\n');
      }
      runs.push(r);
    }
    let calls = 0, n = 0;
    for (let word = 'more'; word === 'more'; calls++) {
      const reply = await shard.call(...drop());
      word = reply.split('\n')[0];
      n += Number(reply.split('\n')[1]);
      assert.ok(Number(reply.split('\n')[1]) <= 5000 / 300 + 1, reply);
    }
    assert.equal(n, 90);
    assert.ok(calls > 5);
    assert.deepEqual(await shard.names(), ['meta', ...FILES]);
  });

  test('a run that is half deleted is nobody\'s: it takes no step, no answer and no driver', async () => {
    const r = await began(shard);
    for (let k = 0; k < 60; k++) {
      await stepped(shard, r, { status: 'waiting', approvers: Array.from({ length: 100 }, (_, j) => `a.${j}`), deadline: 1e9 });
      if (k < 59) [, r.fence] = (await shard.call(...answer({ ...r, account: '5' }))).split('\n');
    }
    assert.equal(await shard.call(...drop()), lines('more', 0));
    const last = answer({ ...r, account: '5', as: ['a.5'] });
    assert.deepEqual((await shard.turn([step({ ...r, step: r.step + 1 }), ['workflow_renew', `${ALICE}.${r.run}`, r.fence], ['workflow_echo', ALICE, 'r9']])).replies, ['lost', `${ALICE}.${r.run}`, 'none']);
    assert.equal(await shard.call(...last), 'missing');
    assert.equal(await shard.get('wf_due'), undefined);
    assert.equal(await shard.call(...drop()), lines('done', 1));
    assert.deepEqual(await shard.names(), ['meta', ...FILES]);
  });

  test('the same session begins again after that', async () => {
    await began(shard);
    await shard.call(...drop());
    const r = await began(shard);
    assert.equal(await stepped(shard, r), lines('ok', 1));
    assert.equal((await shard.get(`wf:${ALICE}`)).runs, '1');
  });
});

scripts('a full Redis', ({ test, shard }) => {
  test('a run that has begun continues, is answered and ends; a new one does not begin', async () => {
    const r = await began(shard);
    const freeing = async (...verbs) => {
      const words = ['n1 150000 2000 3 100 1 0', 0];
      for (const [name, ...args] of verbs) words.push(verbWord(name, args), ...args);
      return joined(await shard.cmd('FCALL', 'turn_test_freeing', 1, PREFIX, ...words)).slice(0, verbs.length);
    };
    await shard.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      const id = `${ALICE}.${r.run}`;
      const [refused] = await freeing(begin({ request: 'r2' }));
      assert.match(String(refused), /^Error: STOREFULL workflow_begin$/);
      assert.deepEqual(await freeing(['workflow_find', ALICE, 'r1'], step({ ...r, step: 1, status: 'waiting', approvers: ['a.F'] }), answer({ ...r, step: 1 })), [lines('ok', r.run, 'running', 0, ''), lines('ok', 1), lines('decided', 2, 'F', 'alice')]);
      assert.deepEqual(await freeing(['workflow_renew', id, 2], step({ ...r, fence: 2, step: 2, status: 'done' })), ['', lines('ok', 2)]);
      assert.match((await freeing(['workflow_history', 0, 'alice', '', '', '', '', '', '']))[0], /^ok\n\n/);
      assert.deepEqual(await freeing(['workflow_take', 10, 0]), ['']);
      assert.deepEqual(await shard.names(), ['meta', ...FILES]);
    } finally {
      await shard.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
  });
});
