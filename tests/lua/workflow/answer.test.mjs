// SPDX-License-Identifier: MIT
//
// workflow_answer, workflow_echo, workflow_question: who may answer a question, how many must, and which answer counts.
import assert from 'node:assert/strict';
import { ago, lines, list, scripts, soon } from '../../support/lua.mjs';
import { ALICE, answer, answerOf, began, BOB, derived, keysOf, LEASE_MS, LOG_BYTES, NAMES_MAX, pass, step, stepped } from '../../support/lua_workflow.mjs';

const id = `${ALICE}.1000`;
const run = 1000;
const waiting = (question = {}, more = {}) => keysOf({ run, fence: 7, status: 'waiting', records: ['{}'], questions: { 1: question }, ...more });
// Its keys after answers (predicates of their texts) that leave it open (question: its new fields), or end it (status).
const answered = (before, question, texts, status) => {
  const keys = Object.fromEntries(Object.entries(before).filter(([name]) => /^wf[rq]:/.test(name)));
  const r = { ...keys[`wfr:${id}`], bytes: (n) => Number(n) > 0, log: (n) => Number(n) > 2 };
  if (status) Object.assign(r, { status, fence: 1, node: 'n1', updated: ago(), ...(status === 'approved' && { approved: 1 }) });
  keys[`wfr:${id}`] = r;
  keys[`wfq:${id}.1`] = { ...keys[`wfq:${id}.1`], answers: texts.length, ...question };
  const after = { ...keys, ...derived(keys, { due: soon(LEASE_MS) }), [`wfa:${id}`]: list(...texts) };
  if (status) Object.assign(after, { meta: { lease: 1, depth: 0, vt: '0.000000' }, [`wf:${ALICE}`]: { ...after[`wf:${ALICE}`], waiting: '' } });
  return { ...Object.fromEntries(Object.keys(before).filter((name) => name.startsWith('wf_ask')).map((name) => [name, null])), ...after };
};
const text = (given) => (found) => found === answerOf({ ...given, ms: JSON.parse(found).timestamp }) && ago()(JSON.parse(found).timestamp);
const closed = (status, who = '{"account":"F"}') => ({ status, who, closed: ago() });

scripts('workflow_answer', ({ cases, test, shard }) => {
  const by = (account) => ({ [`by:${account}`]: ago() });
  const two = { quorum: 2, approvers: 'a.F a.G r.boss' };
  cases([
    { name: 'a yes continues the run on this node', before: () => waiting(), call: answer({ run }), reply: lines('decided', 1, 'F', 'alice'), after: () => answered(waiting(), { ...closed('approved'), ...by('F'), approvals: 1 }, [text()], 'approved') },
    { name: 'a no ends the question', before: () => waiting(two), call: answer({ run, isApproved: false, how: 'link' }), reply: lines('decided', 1, 'F', 'alice'), after: () => answered(waiting(two), { ...closed('rejected'), ...by('F') }, [text({ how: 'link', isApproved: false })], 'running') },
    {
      name: 'what is corrected and said is kept, before and after',
      before: () => waiting(),
      call: answer({ run, how: 'echo', corrections: '{"a":2}', before: '{"a":1}', comment: '"why"' }),
      reply: lines('decided', 1, 'F', 'alice'),
      after: () => answered(waiting(), { ...closed('approved'), ...by('F'), approvals: 1 }, [text({ how: 'echo', corrections: '{"a":2}', before: '{"a":1}', comment: '"why"' })], 'approved'),
    },
    { name: 'the first of two approvals leaves it open', before: () => waiting(two), call: answer({ run }), reply: lines('counted', 1, 2), after: () => answered(waiting(two), { ...by('F'), approvals: 1 }, [text()]) },
    { name: 'the deadline ends it', before: () => waiting({ deadline: 5 }), call: pass({ run }), reply: lines('decided', 1, 'F', 'alice'), after: () => answered(waiting({ deadline: 5 }), closed('expired', 'null'), [text({ how: 'deadline', isApproved: false, who: 'null' })], 'running') },
    { name: 'a deadline that continues is no approval', before: () => waiting({ deadline: 5 }), call: pass({ run, isApproved: true }), reply: lines('decided', 1, 'F', 'alice'), after: () => answered(waiting({ deadline: 5 }), closed('expired', 'null'), [text({ how: 'deadline', who: 'null' })], 'running') },
    { name: 'a deadline of a run that was approved before', before: () => waiting({ deadline: 5 }, { approved: 1 }), call: pass({ run }), reply: lines('decided', 1, 'F', 'alice'), after: () => answered(waiting({ deadline: 5 }, { approved: 1 }), closed('expired', 'null'), [text({ how: 'deadline', isApproved: false, who: 'null' })], 'approved') },
    { name: 'a deadline that has not passed', before: () => waiting({ deadline: 9e12 }), call: pass({ run }), reply: 'early' },
    { name: 'a deadline of a question without one', before: () => waiting(), call: pass({ run }), reply: 'early' },
    { name: 'an answer after the deadline, which no node has noticed yet', before: () => waiting({ deadline: 5 }), call: answer({ run }), reply: lines('closed', 'null', 5) },
    { name: 'an answer before it', before: () => waiting({ deadline: 9e12 }), call: answer({ run }), reply: lines('decided', 1, 'F', 'alice'), after: () => answered(waiting({ deadline: 9e12 }), { ...closed('approved'), ...by('F'), approvals: 1 }, [text()], 'approved') },
    { name: 'an answer to an answered question', before: () => waiting({ status: 'approved', who: '{"account":"G"}', closed: 1234 }, { status: 'approved' }), call: answer({ run }), reply: lines('closed', '{"account":"G"}', 1234) },
    { name: 'a deadline of an answered question', before: () => waiting({ status: 'approved', who: '{"account":"G"}', closed: 1234, deadline: 5 }, { status: 'approved' }), call: pass({ run }), reply: lines('closed', '{"account":"G"}', 1234) },
    { name: 'a step that asked nothing', before: () => waiting(), call: answer({ run, step: 2 }), reply: 'missing' },
    { name: 'a run that does not exist', before: () => waiting(), call: answer({ run: 1001 }), reply: 'missing' },
    { name: 'the question of another session', before: () => waiting(), call: answer({ run, session: BOB }), reply: 'missing' },
    { name: 'one who is no approver', before: () => waiting(), call: answer({ run, account: 'G' }), reply: 'forbidden' },
    { name: 'one who is no approver does not hear who answered', before: () => waiting({ status: 'approved', who: '{}', closed: 1234 }, { status: 'approved' }), call: answer({ run, account: 'G' }), reply: 'forbidden' },
    { name: 'one without a name', before: () => waiting(), call: answer({ run, as: [] }), reply: 'forbidden' },
    { name: 'a question without approvers', before: () => waiting({ approvers: '' }), call: answer({ run }), reply: 'forbidden' },
    { name: 'an account that is named as a role is', before: () => waiting({ approvers: 'r.boss' }), call: answer({ run, account: 'boss', as: ['a.boss', 'r.user'] }), reply: 'forbidden' },
    { name: 'a role that is named as an account is', before: () => waiting({ approvers: 'a.boss' }), call: answer({ run, account: 'G', as: ['a.G', 'r.boss'] }), reply: 'forbidden' },
    { name: 'an approver whose name begins with another one\'s', before: () => waiting({ approvers: 'a.F2 a.2F r.a.F' }), call: answer({ run }), reply: 'forbidden' },
    { name: 'one\'s own request, if that is not wanted', before: () => waiting({ is_self_allowed: 0, approvers: 'a.F r.boss' }), call: answer({ run, as: ['a.F', 'r.boss'] }), reply: 'forbidden' },
    { name: 'one\'s own request cannot be rejected then, either', before: () => waiting({ is_self_allowed: 0, approvers: 'a.F' }), call: answer({ run, isApproved: false }), reply: 'forbidden' },
    { name: 'nor by another account of the same user', before: () => waiting({ is_self_allowed: 0, approvers: 'r.boss' }), call: answer({ run, account: 'G', user: 'alice', as: ['a.G', 'r.boss'] }), reply: 'forbidden' },
    { name: 'nor by the same account for another user', before: () => waiting({ is_self_allowed: 0, approvers: 'r.boss' }), call: answer({ run, user: 'bob', as: ['a.F', 'r.boss'] }), reply: 'forbidden' },
    { name: 'somebody else\'s, then', before: () => waiting({ is_self_allowed: 0, approvers: 'r.boss' }), call: answer({ run, account: 'G', as: ['a.G', 'r.boss'] }), reply: lines('decided', 1, 'F', 'alice'), after: () => answered(waiting({ is_self_allowed: 0, approvers: 'r.boss' }), { ...closed('approved', '{"account":"G"}'), ...by('G'), approvals: 1 }, [text({ who: '{"account":"G"}' })], 'approved') },
  ]);

  const ask = async (given) => {
    const r = await began(shard);
    await stepped(shard, r, { status: 'waiting', ...given });
    return r;
  };
  const of = (r, account, more = {}) => answer({ run: r.run, account, ...more });

  test('two approvals of one account count once, over two nodes and under two names', async () => {
    const r = await ask({ quorum: 2, approvers: ['a.G', 'r.boss', 'a.H'] });
    assert.equal(await shard.call(...of(r, 'G')), lines('counted', 1, 2));
    assert.match((await shard.turn([of(r, 'G', { as: ['r.boss'] })], { node: 'n2' })).replies[0], /^again\n\d+$/);
    assert.match(await shard.call(...of(r, 'G', { isApproved: false })), /^again\n\d+$/, 'nor can it change its mind');
    assert.equal(await shard.call(...of(r, 'H')), lines('decided', 2, 'F', 'alice'));
    assert.equal(await shard.call(...of(r, 'G')), lines('closed', '{"account":"H"}', (await shard.get(`wfq:${ALICE}.${r.run}.1`)).closed));
  });

  test('the second approval of two at once is refused with the first one\'s name', async () => {
    const r = await ask({ approvers: ['a.G', 'a.H'] });
    const { replies } = await shard.turn([of(r, 'G'), of(r, 'H')]);
    assert.equal(replies[0], lines('decided', 2, 'F', 'alice'));
    assert.match(replies[1], /^closed\n{"account":"G"}\n\d+$/);
    assert.equal(await shard.cmd('LLEN', shard.key(`wfa:${ALICE}.${r.run}`)), 1);
  });

  test('a rejection after an approval, and before it: one decision', async () => {
    for (const first of [true, false]) {
      const r = await ask({ quorum: 2, approvers: ['a.G', 'a.H', 'a.I'] });
      assert.match(await shard.call(...of(r, 'G', { isApproved: first })), first ? /^counted/ : /^decided/);
      assert.match(await shard.call(...of(r, 'H', { isApproved: !first })), first ? /^decided/ : /^closed/);
      assert.match(await shard.call(...of(r, 'I')), /^closed/);
      assert.equal((await shard.get(`wfq:${ALICE}.${r.run}.1`)).status, 'rejected');
      await shard.cmd('FLUSHALL');
    }
  });

  test('an answer that crosses the deadline: either it counts, or the deadline does', async () => {
    const outcomes = new Set();
    for (let i = 0; i < 40; i++) {
      const r = await ask({ approvers: ['a.F'], deadline: i % 2 ? 1 : 3 });
      // Both again and again, until one of them has decided.
      const replies = [];
      for (let decided = false; !decided; ) {
        const some = (await shard.turn(i % 4 < 2 ? [of(r, 'F'), pass({ run: r.run })] : [pass({ run: r.run }), of(r, 'F')])).replies;
        replies.push(...some);
        decided = some.some((reply) => reply.startsWith('decided'));
      }
      assert.equal(replies.filter((reply) => reply.startsWith('decided')).length, 1, `${replies}`);
      assert.ok(replies.every((reply) => /^(decided|early|closed)/.test(reply)), `${replies}`);
      const { status, approvals } = await shard.get(`wfq:${ALICE}.${r.run}.1`);
      outcomes.add(status);
      assert.equal(approvals, status === 'approved' ? '1' : '0');
      assert.equal(await shard.cmd('LLEN', shard.key(`wfa:${ALICE}.${r.run}`)), 1);
      await shard.cmd('FLUSHALL');
    }
    assert.ok(outcomes.has('approved'));
    await shard.seed(waiting({ deadline: 5 }));
    const { replies } = await shard.turn([answer({ run }), pass({ run }), answer({ run })]);
    assert.deepEqual(replies.map((reply) => reply.split('\n')[0]), ['closed', 'decided', 'closed']);
  });

  test('who decides drives the run: the next step under that fence is stored, under the former one it is lost', async () => {
    const r = await ask({ approvers: ['a.F'] });
    const [, fence] = (await shard.turn([of(r, 'F')], { node: 'n2' })).replies[0].split('\n');
    assert.equal((await shard.get(`wfr:${ALICE}.${r.run}`)).node, 'n2');
    assert.equal(await shard.call(...step({ run: r.run, fence: r.fence, step: 2 })), 'lost');
    assert.equal(await shard.call(...step({ run: r.run, fence, step: 2 })), lines('ok', 2));
  });

  test('a hundred approvers of whom all must approve', async () => {
    const accounts = Array.from({ length: 100 }, (_, i) => `G${i}`);
    const r = await ask({ quorum: 100, approvers: accounts.map((account) => `a.${account}`) });
    for (const [i, account] of accounts.entries()) assert.equal(await shard.call(...of(r, account)), i < 99 ? lines('counted', i + 1, 100) : lines('decided', 2, 'F', 'alice'));
    const loaded = (await shard.call('workflow_load', ALICE, r.run)).split('\n');
    assert.deepEqual(JSON.parse(loaded[21]).map(({ who }) => who.account), accounts);
    for (const account of accounts) assert.deepEqual([await shard.get(`wf_ask:a.${account}`), (await shard.get(`wf_asked:a.${account}`)).value[`${ALICE}.${r.run}.1`] > 0], [undefined, true]);
  });

  test('past 1 MiB of answers a plain approval still counts, and nothing else', async () => {
    const accounts = Array.from({ length: 40 }, (_, i) => `G${i}`);
    const r = await ask({ quorum: 41, approvers: [...accounts, 'F'].map((account) => `a.${account}`) });
    const corrections = JSON.stringify({ x: 'x'.repeat(60_000) });
    const replies = [];
    for (const account of accounts) replies.push(await shard.call(...of(r, account, { corrections })));
    const counted = replies.filter((reply) => reply.startsWith('counted')).length;
    assert.equal(counted, Math.floor(LOG_BYTES / 60_300));
    assert.deepEqual([...new Set(replies.slice(counted))], ['full']);
    assert.equal(await shard.call(...of(r, 'F', { before: corrections })), 'full');
    assert.equal(await shard.call(...of(r, 'F')), lines('counted', counted + 1, 41));
    assert.ok((await shard.call('workflow_load', ALICE, r.run)).length < 1.5 * LOG_BYTES);
  });

  test('the question that is asked after an answer is another one, and the first answers stay', async () => {
    const r = await ask({ approvers: ['a.F'] });
    const [, fence] = (await shard.call(...of(r, 'F', { corrections: '{"x":1}' }))).split('\n');
    await stepped(shard, { ...r, fence, step: 1 }, { status: 'waiting', approvers: ['a.F'], frame: '' });
    assert.match(await shard.call(...of(r, 'F')), /^closed/);
    assert.match(await shard.call(...of(r, 'F', { step: 2, isApproved: false })), /^decided/);
    const loaded = (await shard.call('workflow_load', ALICE, r.run)).split('\n');
    assert.deepEqual([loaded[15], loaded[16], JSON.parse(loaded[21]).length], ['2', 'rejected', 1]);
    assert.equal(await shard.cmd('LLEN', shard.key(`wfa:${ALICE}.${r.run}`)), 2);
  });

  test('an answer to a run whose user was deleted', async () => {
    const r = await ask({ approvers: ['a.F'] });
    await shard.call('workflow_delete', 0, 'alice');
    assert.equal(await shard.call(...of(r, 'F')), 'missing');
    assert.deepEqual(await shard.names(), ['meta', 'wf_file:v1', 'wf_files']);
  });

  test('a nonce that was used before answers nothing', async () => {
    const r = await ask({ approvers: ['a.F'] });
    const [name, , ...rest] = of(r, 'F');
    const nonces = ['1'.repeat(16)];
    await shard.turn([['nonce', 1]], { nonces });
    assert.deepEqual((await shard.turn([[name, 1, ...rest]], { nonces })).replies, ['replay']);
    assert.equal((await shard.get(`wfq:${ALICE}.${r.run}.1`)).status, 'open');
  });
});

scripts('workflow_echo', ({ cases, test, shard }) => {
  const before = () => waiting({}, { frames: ['{}'] });
  const echoed = (keys, request) => ({ [`wf:${ALICE}`]: { ...keys[`wf:${ALICE}`], [`id:${request}`]: run }, [`wfr:${id}`]: { ...keys[`wfr:${id}`], request_id: request, ids: `r1 ${request}`, bytes: Number(keys[`wfr:${id}`].bytes) + 2 * request.length } });
  cases([
    { name: 'a session that nobody began', call: ['workflow_echo', ALICE, 'r2'], reply: 'none' },
    { name: 'no question is open', before: () => keysOf({ run }), call: ['workflow_echo', ALICE, 'r2'], reply: 'none' },
    { name: 'a new id leads to the run, and is the one of its frames', before, call: ['workflow_echo', ALICE, 'r2'], reply: lines('ok', run, 1), after: () => echoed(before(), 'r2') },
    { name: 'the same echo again', before: () => ({ ...before(), ...echoed(before(), 'r2') }), call: ['workflow_echo', ALICE, 'r2'], reply: lines('ok', run, 1) },
    { name: 'the first id', before, call: ['workflow_echo', ALICE, 'r1'], reply: lines('ok', run, 1) },
    { name: 'an id whose run continues', before: () => keysOf({ run, status: 'approved' }), call: ['workflow_echo', ALICE, 'r1'], reply: lines('known', run) },
    { name: 'an id whose run is over', before: () => keysOf({ run, status: 'done' }), call: ['workflow_echo', ALICE, 'r1'], reply: lines('known', run) },
    { name: 'too many ids', before: () => waiting({}, { ids: Array.from({ length: NAMES_MAX }, (_, i) => `r${i}`).join(' ') }), call: ['workflow_echo', ALICE, 'new'], reply: 'full' },
  ]);

  test('the newest question of several, then the next newest', async () => {
    const runs = [];
    for (let i = 0; i < 3; i++) runs.push(await began(shard, { request: `r${i}` }));
    for (const i of [1, 0, 2]) await stepped(shard, runs[i], { status: 'waiting', approvers: ['a.F'] });
    for (const [n, i] of [2, 0, 1].entries()) {
      assert.equal(await shard.call('workflow_echo', ALICE, `e${n}`), lines('ok', runs[i].run, 1));
      assert.match(await shard.call(...answer({ run: runs[i].run, how: 'echo' })), /^decided/);
      assert.match(await shard.call('workflow_find', ALICE, `e${n}`), new RegExp(`^ok\n${runs[i].run}\napproved\n`));
      assert.match(await shard.call('workflow_find', ALICE, `r${i}`), new RegExp(`^ok\n${runs[i].run}\napproved\n`));
    }
    assert.equal(await shard.call('workflow_echo', ALICE, 'e3'), 'none');
  });

  test('another question opens between the echo and its answer: the answer goes to the one that was open', async () => {
    const [a, b] = [await began(shard, { request: 'ra' }), await began(shard, { request: 'rb' })];
    await stepped(shard, a, { status: 'waiting', approvers: ['a.F'] });
    const [, run_, n] = (await shard.call('workflow_echo', ALICE, 'e')).split('\n');
    await stepped(shard, b, { status: 'waiting', approvers: ['a.F'] });
    assert.match(await shard.call(...answer({ run: run_, step: n, how: 'echo' })), /^decided/);
    assert.deepEqual([(await shard.get(`wfr:${ALICE}.${a.run}`)).status, (await shard.get(`wfr:${ALICE}.${b.run}`)).status], ['approved', 'waiting']);
    assert.equal(await shard.call('workflow_echo', ALICE, 'e2'), lines('ok', b.run, 1));
  });

  test('the question is answered between the echo and its answer, and the run asks again: the answer is refused', async () => {
    const r = await began(shard);
    await stepped(shard, r, { status: 'waiting', approvers: ['a.F', 'a.G'] });
    const [, run_, n] = (await shard.call('workflow_echo', ALICE, 'e')).split('\n');
    const [, fence] = (await shard.call(...answer({ run: run_, account: 'G' }))).split('\n');
    await stepped(shard, { ...r, fence }, { status: 'waiting', approvers: ['a.F'] });
    assert.match(await shard.call(...answer({ run: run_, step: n, how: 'echo' })), /^closed\n{"account":"G"}/);
    assert.equal((await shard.get(`wfr:${ALICE}.${r.run}`)).status, 'waiting');
  });

  test('an echo finds no question of another session', async () => {
    const r = await began(shard, { session: BOB, user: 'bob' });
    await stepped(shard, r, { status: 'waiting', approvers: ['a.F'] });
    assert.equal(await shard.call('workflow_echo', ALICE, 'e'), 'none');
  });
});

scripts('workflow_question', ({ cases }) => {
  const asked = (question, more) => waiting({ deadline: 9e12, quorum: 2, approvals: 1, is_self_allowed: 0, approvers: 'a.F r.x', ...question }, more);
  const shown = (status, who, when) => lines('ok', 'a.F r.x', status, ALICE, run, 1, 'r1', 's1', 'RULE', 'model.next', 'F', 'alice', 1000, 9e12, 2, 1, 0, who, when, '{"q":1}', '{"n":1}');
  cases([
    { name: 'an open one', before: () => asked(), call: ['workflow_question', 0, ALICE, run, 1], reply: shown('open', '', '') },
    { name: 'an answered one, after its run has gone on', before: () => asked({ status: 'approved', who: '{"account":"G"}', closed: 1500 }, { status: 'done', body: '{"n":9}' }), call: ['workflow_question', 0, ALICE, run, 1], reply: shown('approved', '{"account":"G"}', 1500) },
    { name: 'a step that asked nothing', before: () => asked(), call: ['workflow_question', 0, ALICE, run, 2], reply: 'missing' },
    { name: 'another session', before: () => asked(), call: ['workflow_question', 0, BOB, run, 1], reply: 'missing' },
  ]);
});
