// SPDX-License-Identifier: MIT
//
// workflow_renew, _look, _take, _release: a run has one driver at a time, whichever node dies. Also what workflow_take
// deletes.
import assert from 'node:assert/strict';
import { expireDue, putDue, whenDue } from '../../support/due.mjs';
import { ago, lines, scripts, soon, zset } from '../../support/lua.mjs';
import { ALICE, answer, began, BOB, frameOf, keysOf, LEASE_MS, OVER, pass, step, stepped } from '../../support/lua_workflow.mjs';

const id = `${ALICE}.1000`;
const one = { run: 1000, fence: 7 };
const DAY_MS = 86_400_000;
const take = (limit = 10, keep = '') => ['workflow_take', limit, keep];
const renew = (...pairs) => ['workflow_renew', ...pairs];
const due = (at) => ({ 'wf_due:F:alice': zset({ [id]: at }) });
const waiting = (deadline) => keysOf({ ...one, status: 'waiting', records: ['{}'], questions: { 1: { deadline } } });
// The nodes that may have these runs.
const takers = (shard, n = 2, limit = 10) => Promise.all(Array.from({ length: n }, async (_, i) => (await shard.turn([take(limit)], { node: `n${i + 1}` })).replies[0].split('\n').filter(Boolean)));
const expire = (shard) => expireDue(shard, 'wf_due', id);

scripts('workflow_renew', ({ cases }) => {
  cases([
    { name: 'a run stays with its driver', before: () => ({ ...keysOf(one), ...due(5) }), call: renew(id, 7), reply: '', after: () => due(soon(LEASE_MS)) },
    { name: 'after a yes, too', before: () => ({ ...keysOf({ ...one, status: 'approved' }), ...due(5) }), call: renew(id, 7), reply: '', after: () => due(soon(LEASE_MS)) },
    { name: 'a run that another node has is lost', before: () => keysOf(one), call: renew(id, 6), reply: id },
    { name: 'a run that waits needs no driver', before: () => waiting(''), call: renew(id, 7), reply: id },
    ...OVER.map((status) => ({ name: `a run that is ${status} needs none`, before: () => keysOf({ ...one, status }), call: renew(id, 7), reply: id })),
    { name: 'a run that is gone is lost', call: renew(id, 7), reply: id },
    { name: 'of several, those that are lost', before: () => ({ ...keysOf(one), ...due(5) }), call: renew(`${BOB}.1`, 1, id, 7, `${BOB}.2`, 1), reply: lines(`${BOB}.1`, `${BOB}.2`), after: () => due(soon(LEASE_MS)) },
    { name: 'none', call: renew(), reply: '' },
  ]);
});

scripts('workflow_release', ({ cases, test, shard }) => {
  const release = (fence = 7, after = 0) => ['workflow_release', ALICE, 1000, fence, after];
  cases([
    { name: 'a run that has no place here is due at once', before: () => ({ ...keysOf(one), ...due(9e12) }), call: release(), reply: 'ok', after: () => due(ago()) },
    { name: 'or after a while', before: () => ({ ...keysOf(one), ...due(5) }), call: release(7, 5000), reply: 'ok', after: () => due(soon(5000)) },
    { name: 'a run that another node has is lost', before: () => ({ ...keysOf(one), ...due(9e12) }), call: release(6), reply: 'lost' },
    { name: 'so is one that waits for a person', before: () => waiting(9e12), call: release(), reply: 'lost' },
    { name: 'and one that is gone', call: release(), reply: 'lost' },
  ]);

  test('a run that is given back again and again does not come back less often', async () => {
    await shard.seed({ ...keysOf(one), wf_files: zset({ v1: Date.now() }) });
    for (let i = 0; i < 10; i++) {
      await expire(shard);
      const [[, fence]] = await takers(shard, 1);
      assert.equal(await shard.call(...release(fence)), 'ok');
    }
    assert.equal((await shard.get(`wfr:${id}`)).taken, '0');
  });
});

scripts('workflow_due', ({ cases }) => {
  const look = (keep = '') => ['workflow_due', keep];
  const ended = (ms) => ({ wf_done: zset({ [id]: ms }) });
  cases([
    { name: 'nothing is there', call: look(DAY_MS), reply: '0' },
    { name: 'a run that its node drives', before: () => due(Date.now() + LEASE_MS), call: look(), reply: '0' },
    { name: 'a run whose time has passed', before: () => due(5), call: look(), reply: '1' },
    { name: 'a run that ended long ago', before: () => ended(1000), call: look(DAY_MS), reply: '1' },
    { name: 'without a time all are kept', before: () => ended(1000), call: look(), reply: '0' },
    { name: 'a run that ended a moment ago', before: () => ended(Date.now()), call: look(DAY_MS), reply: '0' },
    { name: 'a file that nobody has used for 30 days', before: () => ({ wf_files: zset({ v1: Date.now() - 31 * DAY_MS }) }), call: look(), reply: '1' },
    { name: 'a file of today', before: () => ({ wf_files: zset({ v1: Date.now() }) }), call: look(), reply: '0' },
  ]);
});

scripts('workflow_take', ({ cases, test, shard }) => {
  const taken = (keys, node = 'n1') => ({ [`wfr:${id}`]: { ...keys[`wfr:${id}`], fence: 1, node, taken: 1 }, ...due(soon(LEASE_MS)), meta: { lease: 1, depth: 0, vt: '0.000000' } });
  const over = (ms) => keysOf({ ...one, status: 'done', frames: ['{}'], records: ['{}'], answers: ['{}'], updated: ms, questions: { 1: { status: 'approved', closed: ms, who: '{}', approvers: 'a.F r.x' } } });
  const gone = (keys) => ({ ...Object.fromEntries(Object.keys(keys).map((name) => [name, null])), 'wf_file:v1': keys['wf_file:v1'], wf_files: keys.wf_files });
  // Its file was used today.
  const today = () => ({ wf_files: zset({ v1: Date.now() }) });
  cases([
    { name: 'nothing is due', before: () => ({ ...keysOf(one), ...today() }), call: take(), reply: '' },
    { name: 'the run of a dead node, under the next fence', before: () => ({ ...keysOf(one), ...due(5), ...today() }), frame: { node: 'n2' }, call: take(), reply: lines(id, 1, 'F', 'alice', 'running'), after: () => taken(keysOf(one), 'n2') },
    { name: 'a question past its deadline: it is still open', before: () => ({ ...waiting(5), ...today() }), call: take(), reply: lines(id, 1, 'F', 'alice', 'waiting'), after: () => taken(waiting(5)) },
    { name: 'a question before its deadline', before: () => ({ ...waiting(9e12), ...today() }), call: take(), reply: '' },
    { name: 'a limit of none', before: () => ({ ...keysOf(one), ...due(5), ...today() }), call: take(0), reply: '' },
    { name: 'an id whose run is gone is dropped', before: () => ({ ...due(5) }), call: take(), reply: '', after: { 'wf_due:F:alice': null } },
    { name: 'a run that ended long ago is deleted with all its keys, in the same call', before: () => ({ ...over(1000), ...today() }), call: take(10, DAY_MS), reply: '', after: () => ({ ...gone(over(1000)), wf_files: zset({ v1: ago() }) }) },
    { name: 'a run that ended a moment ago is kept', before: () => ({ ...over(Date.now()), ...today() }), call: take(10, DAY_MS), reply: '' },
    { name: 'without a time all are kept', before: () => ({ ...over(1000), ...today() }), call: take(), reply: '' },
    { name: 'a run that waits is never deleted', before: () => ({ ...waiting(''), ...today() }), call: take(10, 1), reply: '' },
    { name: 'a file that nobody has used for 30 days is deleted', before: () => ({ ...over(1000), wf_files: zset({ v1: Date.now() - 31 * DAY_MS }) }), call: take(), reply: '', after: { 'wf_file:v1': null, wf_files: null } },
    { name: 'but not that of a run that waits', before: () => ({ ...waiting(''), wf_files: zset({ v1: Date.now() - 31 * DAY_MS }) }), call: take(), reply: '', after: () => ({ wf_files: zset({ v1: ago() }) }) },
    { name: 'nor one that was used 29 days ago', before: () => ({ ...over(1000), wf_files: zset({ v1: Date.now() - 29 * DAY_MS }) }), call: take(), reply: '' },
  ]);

  test('two nodes take one run: one of them gets it', async () => {
    await shard.seed({ ...keysOf(one), ...due(5), ...today() });
    const [a, b] = await takers(shard);
    assert.deepEqual([a, b].filter((got) => got.length), [[id, '1', 'F', 'alice', 'running']]);
  });

  test('five nodes share what is due: each run goes to one of them, the longest due first', async () => {
    const runs = [];
    for (let i = 0; i < 50; i++) runs.push(await began(shard, { request: `r${i}` }));
    for (const [i, r] of runs.entries()) await putDue(shard, 'wf_due', `${ALICE}.${r.run}`, i + 1);
    const got = await takers(shard, 6, 10);
    assert.deepEqual(got.flatMap((some) => some.filter((_, i) => i % 5 === 0)), runs.map(({ run }) => `${ALICE}.${run}`));
    assert.equal(new Set(got.flatMap((some) => some.filter((_, i) => i % 5 === 1))).size, 50, 'each has a fence of its own');
    assert.deepEqual(got[5], []);
  });

  test('the former driver comes back: its step is lost, and so is its sign of life', async () => {
    await shard.seed({ ...keysOf(one), ...due(5), ...today() });
    const [[, fence]] = await takers(shard, 1);
    const replies = (await shard.turn([step({ run: 1000, fence: 7 }), renew(id, 7), step({ run: 1000, fence }), renew(id, fence)], { node: 'n3' })).replies;
    assert.deepEqual(replies, ['lost', id, lines('ok', 1), '']);
    assert.equal(await shard.cmd('LLEN', shard.key(`wff:${id}`)), 1);
  });

  test('a driver that dies again and again: the run is taken each time, and the last fence counts', async () => {
    await shard.seed({ ...keysOf(one), ...today() });
    let fence;
    for (let i = 1; i <= 5; i++) {
      await expire(shard);
      [[, fence]] = await takers(shard, 1);
      assert.equal(fence, String(i));
    }
    for (let old = 1; old < 5; old++) assert.equal(await shard.call(...step({ run: 1000, fence: old })), 'lost');
    assert.equal(await shard.call(...step({ run: 1000, fence })), lines('ok', 1));
  });

  test('a run that ends every node that takes it comes back less and less often, and at once again after a step', async () => {
    await shard.seed({ ...keysOf(one), ...today() });
    const until = () => whenDue(shard, 'wf_due', id);
    const left = async () => (await until()) - Date.now();
    for (let i = 1; i <= 14; i++) {
      await expire(shard);
      const before = Date.now();
      const [[, fence]] = await takers(shard, 1);
      const leased = (await until()) - before;
      const expected = LEASE_MS * 2 ** Math.max(0, Math.min(i - 3, 8));
      assert.ok(leased >= expected && leased < expected + LEASE_MS, `take ${i}: ${leased} ms`);
      if (i < 14) continue;
      // A driver that lives has it for ten seconds at a time.
      await shard.call(...renew(id, fence));
      assert.ok((await left()) <= LEASE_MS);
      assert.equal(await shard.call(...step({ run: 1000, fence })), lines('ok', 1));
    }
    assert.equal((await shard.get(`wfr:${id}`)).taken, undefined);
    await expire(shard);
    await takers(shard, 1);
    assert.ok((await left()) <= LEASE_MS);
  });

  test('a node dies between an approval and the next step: another one finds what was decided', async () => {
    const r = await began(shard);
    await stepped(shard, r, { status: 'waiting', approvers: ['a.F'] });
    assert.equal(await shard.call(...answer({ run: r.run, corrections: '{"x":1}', comment: '"as said"' })), lines('decided', 2, 'F', 'alice'));
    await expireDue(shard, 'wf_due', `${ALICE}.${r.run}`);
    assert.deepEqual(await takers(shard), [[`${ALICE}.${r.run}`, '3', 'F', 'alice', 'approved'], []]);
    const got = (await shard.call('workflow_load', ALICE, r.run)).split('\n');
    assert.deepEqual([got[1], got[8], got[15], got[16]], ['approved', '3', '1', 'approved']);
    assert.deepEqual(JSON.parse(got[21]).map(({ corrections, comment, approved }) => [corrections, comment, approved]), [[{ x: 1 }, 'as said', true]]);
    assert.equal(await stepped(shard, { ...r, fence: 2 }), 'lost');
    assert.equal(await stepped(shard, { ...r, fence: 3 }), lines('ok', 2));
  });

  test('a deadline whose node dies before it says so is due again', async () => {
    await shard.seed({ ...waiting(5), ...today() });
    assert.deepEqual(await takers(shard), [[id, '1', 'F', 'alice', 'waiting'], []]);
    await expire(shard);
    assert.deepEqual(await takers(shard), [[id, '2', 'F', 'alice', 'waiting'], []]);
    assert.equal(await shard.call(...pass({ run: 1000 })), lines('decided', 3, 'F', 'alice'));
    await expire(shard);
    assert.deepEqual(await takers(shard), [[id, '4', 'F', 'alice', 'running'], []]);
    assert.equal((await shard.call('workflow_load', ALICE, 1000)).split('\n')[16], 'expired');
  });

  test('many old runs go a few at a time, and all of them go', async () => {
    const runs = [];
    for (let i = 0; i < 90; i++) {
      const r = await began(shard, { request: `r${i}` });
      await stepped(shard, r, { status: 'waiting', approvers: Array.from({ length: 100 }, (_, k) => `a.${k}`) });
      const [, fence] = (await shard.call(...answer({ run: r.run, account: '7', isApproved: false }))).split('\n');
      await stepped(shard, { ...r, fence }, { status: 'rejected', frame: frameOf(2) });
      runs.push(r);
    }
    const left = [];
    while ((await shard.cmd('EXISTS', shard.key('wf_done'))) === 1) {
      const before = await shard.cmd('ZCARD', shard.key('wf_done'));
      await shard.turn([take(10, 0)]);
      left.push(before - (await shard.cmd('ZCARD', shard.key('wf_done'))));
      assert.ok(left.length < 50, `it ends: ${left}`);
    }
    assert.ok(Math.max(...left) <= 20, `${left}`);
    assert.deepEqual(await shard.names(), ['meta', 'wf_file:v1', 'wf_files']);
    assert.equal((await shard.get('wf_file:v1')).runs, '0');
  });
});
