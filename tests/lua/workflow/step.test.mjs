// SPDX-License-Identifier: MIT
//
// workflow_step: a step is stored once, by the driver alone, and sent to the nodes that watch. workflow_watch: what a
// client has missed, and nothing in between is lost.
import assert from 'node:assert/strict';
import { expireDue } from '../../support/due.mjs';
import { ago, lines, list, scripts, soon, ttl, zset } from '../../support/lua.mjs';
import { ALICE, began, begin, BOB, frameOf, keysOf, LEASE_MS, LOG_BYTES, OVER, recordOf, RUN_BYTES, step, stepped, STEPS_MAX } from '../../support/lua_workflow.mjs';

const id = `${ALICE}.1000`;
const one = { run: 1000, fence: 7 };
const driven = { session: ALICE, run: 1000, fence: 7 };
const event = (run, seq, frame = frameOf(seq), session = ALICE) => lines('workflow', session, run, seq, frame);
const watching = (...nodes) => ({ [`wfw:${ALICE}`]: ttl(60, zset(Object.fromEntries(nodes.map((node) => [node, Date.now() + 50_000])))) });
// One run of a key of `keysOf`, changed.
const changed = (keys, name, fields) => ({ [name]: { ...keys[name], ...fields } });
const LOST = 'lost';

scripts('workflow_step', ({ cases, test, shard }) => {
  const before = () => keysOf(one);
  const due = (at) => ({ 'wf_due:F:alice': zset({ [id]: at }) });
  const after = (given) => ({
    ...changed(keysOf(one), `wfr:${id}`, { agent: 'model.next', step: 1, seq: 1, stepped: '7 1', body: '{"n":1}', updated: ago(), bytes: 7 + frameOf(1).length + recordOf(1).length, log: recordOf(1).length, ...given }),
    [`wff:${id}`]: list(frameOf(1)),
    [`wfs:${id}`]: list(recordOf(1)),
    ...due(soon(LEASE_MS)),
  });
  // What a waiting run has in addition.
  const asked = (given = {}) => ({
    ...changed(keysOf(one), `wf:${ALICE}`, { waiting: 1000 }),
    [`wfq:${id}.1`]: { status: 'open', agent: 'model.next', asked: ago(), deadline: '', quorum: 1, is_self_allowed: 1, approvals: 0, answers: 0, approvers: '', question: '{"q":1}', body: '{"n":1}', ...given },
  });
  const waiting = { status: 'waiting', question: '1', questions: '1', bytes: 7 + frameOf(1).length + recordOf(1).length + 14 };
  const over = (status) => ({
    ...after({ status, agent: '', body: '{}' }), 'wf_due:F:alice': null, wf_open: null, wf_done: zset({ [id]: ago() }),
    ...changed(keysOf(one), 'wf_file:v1', { runs: 0 }),
  });
  cases([
    { name: 'a step of a run that continues', before, call: step(driven), reply: lines('ok', 1), after: () => after() },
    { name: 'after a person\'s yes', before, call: step({ ...driven, status: 'approved', attempt: 3 }), reply: lines('ok', 1), after: () => after({ status: 'approved', attempt: 3 }) },
    { name: 'a router that sends no frame, and finds the verb', before, call: step({ ...driven, frame: '', verb: 'CONTENT' }), reply: lines('ok', 0), after: () => ({ ...after({ seq: 0, verb: 'CONTENT', bytes: 7 + recordOf(1).length }), [`wff:${id}`]: null }) },
    { name: 'nothing but a new state', before, call: step({ ...driven, frame: '', record: '' }), reply: lines('ok', 0), after: () => ({ ...after({ seq: 0, bytes: 7, log: 0 }), [`wff:${id}`]: null, [`wfs:${id}`]: null }) },
    { name: 'a run that waits has no driver', before, call: step({ ...driven, status: 'waiting' }), reply: lines('ok', 1), after: () => ({ ...after(waiting), ...asked(), 'wf_due:F:alice': null }) },
    { name: 'a question with a deadline is due then', before, call: step({ ...driven, status: 'waiting', deadline: 60_000 }), reply: lines('ok', 1), after: () => ({ ...after(waiting), ...asked({ deadline: soon(60_000) }), ...due(soon(60_000)) }) },
    {
      name: 'a question is listed for each approver',
      before,
      call: step({ ...driven, status: 'waiting', quorum: 2, isSelf: false, question: '{"form":{}}', approvers: ['a.boss', 'r.boss', 'o.0123'] }),
      reply: lines('ok', 1),
      after: () => ({ ...after({ ...waiting, bytes: waiting.bytes + 4 }), ...asked({ quorum: 2, is_self_allowed: 0, approvers: 'a.boss r.boss o.0123', question: '{"form":{}}' }), 'wf_due:F:alice': null, ...Object.fromEntries(['a.boss', 'r.boss', 'o.0123'].map((who) => [`wf_ask:${who}`, zset({ [`${id}.1`]: ago() })])) }),
    },
    ...OVER.map((status) => ({ name: `a run that is ${status}`, before, call: step({ ...driven, status }), reply: lines('ok', 1), after: () => over(status) })),
    { name: 'a step under a lost fence', before, call: step({ ...driven, fence: 6 }), reply: LOST },
    { name: 'a step under a fence that nobody has yet', before, call: step({ ...driven, fence: 8 }), reply: LOST },
    { name: 'a step that is not the next one', before, call: step({ ...driven, step: 2 }), reply: LOST },
    { name: 'a step that was never taken', before, call: step({ ...driven, step: 0 }), reply: LOST },
    { name: 'a run that does not exist', before, call: step({ ...driven, run: 1001 }), reply: LOST },
    { name: 'the same number of another session', before, call: step({ ...driven, session: BOB }), reply: LOST },
    { name: 'a run that waits takes no step, whatever the fence', before: () => keysOf({ ...one, status: 'waiting', records: ['{}'], questions: { 1: {} } }), call: step({ ...driven, step: 2 }), reply: LOST },
    ...OVER.map((status) => ({ name: `nor does one that is ${status}`, before: () => keysOf({ ...one, status, records: ['{}'] }), call: step({ ...driven, step: 2 }), reply: LOST })),
  ]);

  test('a step whose reply was lost is stored: the same call gets ok, and changes nothing', async () => {
    for (const status of ['running', 'approved', 'waiting', ...OVER]) {
      await shard.cmd('FLUSHALL');
      const r = await began(shard);
      const call = step({ ...r, step: 1, status, approvers: ['a.F'] });
      await shard.turn([call]);
      const names = await shard.names();
      const keys = await Promise.all(names.map((name) => shard.get(name)));
      const { replies, events } = await shard.turn([call]);
      assert.deepEqual(replies, [lines('ok', 1)], status);
      assert.deepEqual(events, [], 'nothing is sent twice');
      assert.deepEqual(await Promise.all((await shard.names()).map((name) => shard.get(name))), keys, status);
    }
  });

  test('the same call is ok while another node has the run already, but its next step is lost', async () => {
    const r = await began(shard);
    const call = step({ ...r, step: 1 });
    await shard.turn([call]);
    await expireDue(shard, 'wf_due', `${ALICE}.${r.run}`);
    const [taken] = (await shard.turn([['workflow_take', 10, '']], { node: 'n2' })).replies;
    assert.equal(taken, lines(`${ALICE}.${r.run}`, 2, 'F', 'alice', 'running'));
    assert.equal(await shard.call(...call), lines('ok', 1));
    assert.equal(await shard.call(...step({ ...r, step: 2 })), LOST);
    assert.equal(await shard.call(...step({ ...r, fence: 2, step: 2 })), lines('ok', 2));
    assert.equal(await shard.call(...call), LOST, 'that is no news any more');
  });

  test('every node that watches gets the frame, in the order of its steps, and no other node', async () => {
    for (const node of ['n2', 'n3', 'n4']) await shard.ears.add(node);
    try {
      const r = await began(shard);
      await shard.turn([['workflow_watch', ALICE, 'r1', 0]], { node: 'n2' });
      await shard.turn([['workflow_watch', ALICE, 'r1', 0]], { node: 'n3' });
      await shard.turn([begin({ session: BOB, user: 'bob', file: '' })], { node: 'n4' });
      await shard.turn([['workflow_unwatch', ALICE]], { node: 'n3' });
      const { events } = await shard.turn([step({ ...r, step: 1 }), step({ ...r, step: 2, frame: '' }), step({ ...r, step: 3, status: 'done', frame: frameOf(2) })]);
      assert.deepEqual(events, [event(r.run, 1), event(r.run, 2)]);
      assert.deepEqual(await shard.ears.take(), [['node:n2', event(r.run, 1)], ['node:n2', event(r.run, 2)]]);
      const { events: sharded } = await shard.turn([step({ ...await began(shard, { request: 'r2' }), step: 1 })], { shards: 4, node: 'n3' });
      assert.equal(sharded.length, 1, 'how many queries are open: n3 does not watch');
      assert.equal((await shard.ears.take()).length, 1, 'n2 gets it over a sharded channel, too');
    } finally {
      for (const node of ['n2', 'n3', 'n4']) await shard.ears.remove(node);
    }
  });

  test('a node that has not said so for a minute gets nothing', async () => {
    await shard.seed({ ...keysOf(one), ...watching('n1'), [`wfw:${ALICE}`]: zset({ n1: 5, n2: 6 }) });
    assert.deepEqual((await shard.turn([step(driven)])).events, []);
    await shard.turn([['workflow_watch_again', ALICE]]);
    assert.deepEqual(Object.keys((await shard.get(`wfw:${ALICE}`)).value), ['n1']);
  });

  test('an account with a limit is charged for all that a run stores, past its limit', async () => {
    const r = await began(shard, { max: 65_536, maxOfUser: 8192 });
    const big = JSON.stringify('x'.repeat(100_000));
    await stepped(shard, r, { frame: big });
    await stepped(shard, r, { status: 'waiting', body: big, approvers: ['a.F'] });
    const { bytes } = await shard.get(`wfr:${ALICE}.${r.run}`);
    assert.equal(Number(bytes), 7 + 2 * big.length + recordOf(1).length * 2 + frameOf(2).length + '{"q":1}'.length);
    const blocks = Math.ceil(bytes / 4096) * 4096;
    assert.deepEqual(await shard.get('stored'), { 'F alice': String(blocks), F: String(Math.ceil(blocks / 65_536) * 65_536) });
    assert.equal(await shard.call('workflow_delete', 0, 'alice'), lines('done', 1));
    assert.equal(await shard.get('stored'), undefined);
  });
});

scripts('the bounds of a run', ({ test, shard }) => {
  test('after 200 steps only the end is stored', async () => {
    const r = await began(shard);
    for (let i = 0; i < STEPS_MAX; i++) assert.equal(await stepped(shard, r), lines('ok', i + 1));
    for (const status of ['running', 'approved', 'waiting']) assert.equal(await stepped(shard, r, { status }), 'full');
    assert.equal(await stepped(shard, r, { status: 'failed' }), lines('ok', STEPS_MAX + 1));
    assert.equal(await shard.cmd('LLEN', shard.key(`wff:${ALICE}.${r.run}`)), STEPS_MAX + 1);
  });

  test('after 16 MiB of frames only the end is stored', async () => {
    const r = await began(shard);
    const frame = JSON.stringify('x'.repeat((256 << 10) - 2));
    let n = 0;
    while ((await stepped(shard, r, { frame })) !== 'full') n++;
    assert.ok(n >= RUN_BYTES / frame.length - 2 && n <= RUN_BYTES / frame.length, `${n} frames`);
    assert.match(await stepped(shard, r, { status: 'failed', frame }), /^ok\n/);
  });

  test('after 1 MiB of records only the end is stored', async () => {
    const r = await began(shard);
    const record = JSON.stringify('x'.repeat((16 << 10) - 2));
    let n = 0;
    while ((await stepped(shard, r, { record })) !== 'full') n++;
    assert.equal(n, LOG_BYTES / record.length);
    assert.match(await stepped(shard, r, { status: 'failed', record }), /^ok\n/);
  });
});

scripts('workflow_watch', ({ cases, test, shard }) => {
  const frames = [frameOf(1), frameOf(2), frameOf(3)];
  const three = () => keysOf({ ...one, frames, records: ['{}', '{}', '{}'], ids: 'r1 r2' });
  const watched = { [`wfw:${ALICE}`]: ttl(60, zset({ n1: soon(60_000) })) };
  cases([
    { name: 'a request id that nobody sent: nothing is watched', before: three, call: ['workflow_watch', ALICE, 'r3', 0], reply: 'missing' },
    { name: 'all frames', before: three, call: ['workflow_watch', ALICE, 'r1', 0], reply: lines('ok', 1000, 'running', 3, 0, ...frames), after: watched },
    { name: 'those after the last one that the client has, by the id of an echo', before: three, call: ['workflow_watch', ALICE, 'r2', 2], reply: lines('ok', 1000, 'running', 3, 0, frames[2]), after: watched },
    { name: 'none', before: three, call: ['workflow_watch', ALICE, 'r1', 3], reply: lines('ok', 1000, 'running', 3, 0), after: watched },
    { name: 'none, of a client that claims to know the future', before: three, call: ['workflow_watch', ALICE, 'r1', 99], reply: lines('ok', 1000, 'running', 3, 0), after: watched },
    { name: 'again, after Redis forgot it', before: three, call: ['workflow_watch_again', ALICE], reply: 'ok', after: watched },
    { name: 'no more: others still do', before: () => ({ ...three(), [`wfw:${ALICE}`]: zset({ n1: 9e12, n2: 9e12 }) }), call: ['workflow_unwatch', ALICE], reply: 'ok', after: { [`wfw:${ALICE}`]: zset({ n2: 9e12 }) } },
    { name: 'no more, without having watched', call: ['workflow_unwatch', ALICE], reply: 'ok' },
  ]);

  test('large frames come in pages, each once and in order', async () => {
    const r = await began(shard);
    const sent = [];
    for (let i = 0; i < 23; i++) {
      sent.push(JSON.stringify(`${i}`.padEnd(i % 3 ? 200_000 : 10, '.')));
      await stepped(shard, r, { frame: sent[i] });
    }
    const got = [];
    for (let isMore = '1', pages = 0; isMore === '1'; pages++) {
      assert.ok(pages < 15, 'it ends');
      const reply = await shard.call('workflow_watch', ALICE, 'r1', got.length);
      assert.ok(reply.length < 524_288 + 262_144 + 100, `a page of ${reply.length} bytes`);
      const [, , , , more, ...page] = reply.split('\n');
      got.push(...page);
      isMore = more;
    }
    assert.deepEqual(got, sent);
  });

  test('a step and a watch at the same time: the frame is in the page, or comes as an event', async () => {
    await shard.ears.add('n2');
    try {
      const r = await began(shard);
      for (let i = 0; i < 20; i++) {
        const calls = [shard.turn([['workflow_watch', ALICE, 'r1', i]], { node: 'n2' }), stepped(shard, r)];
        const page = (await calls[0]).replies[0].split('\n').slice(5);
        await calls[1];
        const heard = (await shard.ears.take()).map(([, text]) => text.split('\n')[4]);
        assert.deepEqual([...page, ...heard], [frameOf(i + 1)]);
        await shard.turn([['workflow_unwatch', ALICE]], { node: 'n2' });
      }
    } finally {
      await shard.ears.remove('n2');
    }
  });
});
