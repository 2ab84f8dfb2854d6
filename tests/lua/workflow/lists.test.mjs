// SPDX-License-Identifier: MIT
//
// workflow_questions, workflow_history: pages of what an approver may answer and of what a user has run, on one shard and
// merged over several.
import assert from 'node:assert/strict';
import { lines, random, scripts } from '../../support/lua.mjs';
import { ALICE, answer, began, BOB, derived, keysOf, runKeys, stepped } from '../../support/lua_workflow.mjs';

const REPLY_BYTES = 1 << 20;
const questions = ({ which = 'open', limit = '', after = '', as = ['a.F'] } = {}) => ['workflow_questions', 0, which, limit, after, ...as];
const history = ({ user = 'alice', account = '', session = '', request = '', status = '', limit = '', after = '' } = {}) => ['workflow_history', 0, user, account, session, request, status, limit, after];

function parse(reply, width) {
  const [ok, cursor, ...rest] = reply.split('\n');
  assert.equal(ok, 'ok');
  assert.equal(rest.length % width, 0, `${rest.length} lines`);
  return { cursor, items: Array.from({ length: rest.length / width }, (_, i) => rest.slice(i * width, (i + 1) * width)) };
}
const QUESTION_LINES = 20, RUN_LINES = 13;

// All pages of a list; on several shards merged as a node does it: each shard is asked for what is after the cursor.
async function all(shards, call, width, limit) {
  const found = [];
  let after = '';
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 500, 'it ends');
    const got = [];
    let isMore = false, edge;
    for (const shard of shards) {
      const { cursor, items } = parse(await shard.call(...call({ limit, after })), width);
      got.push(...items);
      if (cursor) {
        isMore = true;
        if (edge === undefined || isNewer(cursor, edge)) edge = cursor;
      }
    }
    // What is older than the end of a page that has a next one may not be all.
    const sure = got.sort((x, y) => (isNewer(x[0], y[0]) ? -1 : 1)).filter(([place]) => edge === undefined || !isNewer(edge, place)).slice(0, limit || Infinity);
    found.push(...sure);
    const cut = sure.length < got.length;
    if (!isMore && !cut) return found;
    after = cut && sure.length === limit ? sure.at(-1)[0] : edge;
  }
}

function isNewer(x, y) {
  const split = (cursor) => [Number(cursor.split('.')[0]), cursor.slice(cursor.indexOf('.') + 1)];
  const [[a, c], [b, d]] = [split(x), split(y)];
  return a > b || (a === b && c > d);
}

// The same keyspace, of some of its runs.
const keys = (...runs) => {
  const own = Object.assign({}, ...runs.map(runKeys));
  return { ...own, ...derived(own, { due: 9e12 }) };
};
const session = (i) => i.toString(16).padStart(32, '0');

scripts('workflow_questions', ({ cases, test, shard }) => {
  const open = (given = {}) => ({ run: 1000, status: 'waiting', questions: { 1: { asked: 2000, approvers: 'a.F r.x', ...given } } });
  const shown = ({ of = ALICE, run = 1000, when = 2000, status = 'open', who = '', closed = '', asked = 2000 } = {}) => lines(`${when}.${of}.${run}.1`, status, of, run, 1, 'r1', 's1', 'RULE', 'model.next', 'F', 'alice', asked, '', 1, 0, 1, who, closed, '{"q":1}', '{"n":1}');
  const ended = { status: 'rejected', who: '{"account":"G"}', closed: 3000 };
  const over = () => ({ ...open(ended), status: 'rejected' });
  cases([
    { name: 'nobody asked', call: questions(), reply: lines('ok', '') },
    { name: 'an open question', before: () => keysOf(open()), call: questions(), reply: lines('ok', '', shown()) },
    { name: 'under a role', before: () => keysOf(open()), call: questions({ as: ['a.G', 'r.x'] }), reply: lines('ok', '', shown()) },
    { name: 'under two names: once', before: () => keysOf(open()), call: questions({ as: ['a.F', 'r.x'] }), reply: lines('ok', '', shown()) },
    { name: 'of others', before: () => keysOf(open()), call: questions({ as: ['a.x', 'r.F'] }), reply: lines('ok', '') },
    { name: 'without a name', before: () => keysOf(open()), call: questions({ as: [] }), reply: lines('ok', '') },
    { name: 'an ended one is not open', before: () => keysOf(over()), call: questions(), reply: lines('ok', '') },
    { name: 'but answered', before: () => keysOf(over()), call: questions({ which: 'answered' }), reply: lines('ok', '', shown({ when: 3000, status: 'rejected', who: '{"account":"G"}', closed: 3000 })) },
    { name: 'all of both, the newest first', before: () => keysOf({ ...over(), session: BOB }, open()), call: questions({ which: 'all' }), reply: lines('ok', '', shown({ of: BOB, when: 3000, status: 'rejected', who: '{"account":"G"}', closed: 3000 }), shown()) },
    { name: 'after a cursor', before: () => keysOf({ ...over(), session: BOB }, open()), call: questions({ which: 'all', after: `3000.${BOB}.1000.1` }), reply: lines('ok', '', shown()) },
    { name: 'a page that is full', before: () => keysOf({ ...over(), session: BOB }, open()), call: questions({ which: 'all', limit: 1 }), reply: lines('ok', `3000.${BOB}.1000.1`, shown({ of: BOB, when: 3000, status: 'rejected', who: '{"account":"G"}', closed: 3000 })) },
  ]);

  test('questions of the same millisecond each come once, whatever the size of a page', async () => {
    const runs = Array.from({ length: 230 }, (_, i) => ({ session: session(i), run: 1000, status: 'waiting', questions: { 1: { asked: 2000 + Math.floor(i / 110), approvers: i % 3 ? 'a.F' : 'a.F r.x' } } }));
    await shard.seed(keys(...runs));
    const expected = runs.map((r, i) => `${2000 + Math.floor(i / 110)}.${r.session}.1000.1`).sort().reverse();
    for (const limit of [1, 7, 50, 100, '']) {
      const got = await all([shard], (page) => questions({ ...page, as: ['a.F', 'r.x'] }), QUESTION_LINES, limit);
      assert.deepEqual(got.map(([place]) => place), expected, `pages of ${limit}`);
    }
  });

  test('as many questions as are read at once, and one more or less', async () => {
    for (const n of [49, 50, 51, 99, 100, 101]) {
      await shard.cmd('FLUSHALL');
      await shard.seed(keys(...Array.from({ length: n }, (_, i) => ({ session: session(i), run: 1000, status: 'waiting', questions: { 1: { asked: 2000 + i, approvers: 'a.F r.x' } } }))));
      for (const limit of [25, 50, 100]) assert.equal((await all([shard], (page) => questions({ ...page, as: ['a.F', 'r.x'] }), QUESTION_LINES, limit)).length, n, `${n}, pages of ${limit}`);
    }
  });

  test('large questions come in pages of a megabyte', async () => {
    const body = JSON.stringify('x'.repeat(190_000));
    await shard.seed(keys(...Array.from({ length: 20 }, (_, i) => ({ session: session(i), run: 1000, status: 'waiting', questions: { 1: { asked: 2000 + i, body } } }))));
    const first = await shard.call(...questions());
    assert.ok(first.length < REPLY_BYTES + 10_000, `${first.length} bytes`);
    assert.equal(parse(first, QUESTION_LINES).items.length, 5);
    assert.equal((await all([shard], questions, QUESTION_LINES, '')).length, 20);
  });

  test('of answered ones the newest 1,000 are listed', async () => {
    for (let i = 0; i < 1010; i++) {
      const r = await began(shard, { session: session(i), request: 'r' });
      await stepped(shard, r, { status: 'waiting', approvers: ['a.F'] });
      const [, fence] = (await shard.call(...answer({ ...r, step: 1, isApproved: false }))).split('\n');
      await stepped(shard, { ...r, fence }, { status: 'rejected' });
    }
    const got = await all([shard], (page) => questions({ ...page, which: 'answered' }), QUESTION_LINES, 100);
    assert.equal(got.length, 1000);
    assert.deepEqual(got.map((lines_) => lines_[2]).sort(), Array.from({ length: 1000 }, (_, i) => session(i + 10)));
    assert.deepEqual(await all([shard], questions, QUESTION_LINES, 100), []);
  });
});

scripts('workflow_history', ({ cases, test, shard }) => {
  const run = (given = {}) => ({ run: 1000, frames: ['{}'], records: ['{"agent":"a"}', '{"agent":"b"}'], answers: ['{"step":2}'], status: 'done', updated: 2000, ...given });
  const shown = ({ of = ALICE, n = 1000, request = 'r1', account = 'F', status = 'done', updated = 2000, steps = '[{"agent":"a"},{"agent":"b"}]', answers = '[{"step":2}]' } = {}) =>
    lines(`${n}.${of}.${n}`, of, n, request, 's1', account, 'RULE', 'v1', status, n, updated, steps, answers);
  const two = () => keysOf(run({ run: 2000, status: 'running', records: [], answers: [], ids: 'r2 r3' }), run());
  const second = shown({ n: 2000, request: 'r3', status: 'running', steps: '[]', answers: '[]' });
  cases([
    { name: 'nobody', call: history(), reply: lines('ok', '') },
    { name: 'a run with its steps and answers', before: () => keysOf(run()), call: history(), reply: lines('ok', '', shown()) },
    { name: 'the newest one first', before: two, call: history(), reply: lines('ok', '', second, shown()) },
    { name: 'a page', before: two, call: history({ limit: 1 }), reply: lines('ok', `2000.${ALICE}.2000`, second) },
    { name: 'the next page', before: two, call: history({ limit: 1, after: `2000.${ALICE}.2000` }), reply: lines('ok', '', shown()) },
    { name: 'of another user', before: two, call: history({ user: 'bob' }), reply: lines('ok', '') },
    { name: 'of another account', before: two, call: history({ account: 'G' }), reply: lines('ok', '') },
    { name: 'of this account', before: two, call: history({ account: 'F' }), reply: lines('ok', '', second, shown()) },
    { name: 'with a status', before: two, call: history({ status: 'done' }), reply: lines('ok', '', shown()) },
    { name: 'one that a person has let through is approved, not done', before: () => keysOf(run({ approved: 1 })), call: history(), reply: lines('ok', '', shown({ status: 'approved' })) },
    { name: 'it is found by that status', before: () => keysOf(run({ approved: 1 })), call: history({ status: 'approved' }), reply: lines('ok', '', shown({ status: 'approved' })) },
    { name: 'and not as one that needed nobody', before: () => keysOf(run({ approved: 1 })), call: history({ status: 'done' }), reply: lines('ok', '') },
    { name: 'one that failed after a yes has failed', before: () => keysOf(run({ approved: 1, status: 'failed' })), call: history(), reply: lines('ok', '', shown({ status: 'failed' })) },
    { name: 'of a session', before: () => keysOf(run(), run({ session: BOB, run: 1001 })), call: history({ session: BOB }), reply: lines('ok', '', shown({ of: BOB, n: 1001 })) },
    { name: 'of a request id', before: two, call: history({ request: 'r1' }), reply: lines('ok', '', shown()) },
    { name: 'of the id of an echo', before: two, call: history({ request: 'r2' }), reply: lines('ok', '', second) },
    { name: 'of a request id that nobody sent', before: two, call: history({ request: 'r' }), reply: lines('ok', '') },
  ]);

  test('a run with a megabyte of steps is a page of its own', async () => {
    const records = Array.from({ length: 64 }, () => JSON.stringify('x'.repeat((16 << 10) - 2)));
    await shard.seed(keys(...Array.from({ length: 3 }, (_, i) => ({ run: 1000 + i, status: 'done', records }))));
    const got = [];
    for (let after = '', pages = 0; pages === 0 || after; pages++) {
      const { cursor, items } = parse(await shard.call(...history({ after })), RUN_LINES);
      assert.equal(items.length, 1);
      got.push(items[0][2]);
      after = cursor;
    }
    assert.deepEqual(got, ['1002', '1001', '1000']);
  });

  test('a thousand runs, of which one has the status: a page may be empty, and the next one has it', async () => {
    const runs = Array.from({ length: 2500 }, (_, i) => ({ session: session(i), run: 1000 + i, status: i === 3 ? 'failed' : 'done' }));
    await shard.seed(keys(...runs));
    const { cursor, items } = parse(await shard.call(...history({ status: 'failed' })), RUN_LINES);
    assert.deepEqual([cursor, items], [`2500.${session(1500)}.2500`, []]);
    const got = await all([shard], (page) => history({ ...page, status: 'failed' }), RUN_LINES, '');
    assert.deepEqual(got.map(([, of]) => of), [session(3)]);
    assert.equal((await all([shard], history, RUN_LINES, 70)).length, 2500);
    const own = await shard.call(...history({ session: session(3) }));
    assert.deepEqual(parse(own, RUN_LINES).items.map(([, of]) => of), [session(3)], 'the oldest of one session: in one page');
  });
});

scripts('lists over several shards', ({ test, shard }) => {
  for (const n of [2, 4]) {
    test(`runs and questions of ${n} shards, in one order and each once`, async () => {
      const below = random(n);
      const shards = Array.from({ length: n }, (_, i) => shard.at(`parley:{${i}}:`));
      try {
        const runs = Array.from({ length: 150 }, (_, i) => ({ session: session(i), run: 1000 + below(40), status: 'waiting', questions: { 1: { asked: 2000 + below(10), approvers: 'a.F' } } }));
        for (const [i, one] of shards.entries()) await one.seed(keys(...runs.filter((_, k) => k % n === i)));
        const ids = (list) => list.map(([place]) => place);
        const sorted = (places) => places.sort((x, y) => (isNewer(x, y) ? -1 : 1));
        for (const limit of [1, 13, 100]) {
          assert.deepEqual(ids(await all(shards, history, RUN_LINES, limit)), sorted(runs.map((r) => `${r.run}.${r.session}.${r.run}`)), `runs, ${limit}`);
          assert.deepEqual(ids(await all(shards, questions, QUESTION_LINES, limit)), sorted(runs.map((r) => `${r.questions[1].asked}.${r.session}.${r.run}.1`)), `questions, ${limit}`);
        }
      } finally {
        for (const one of shards) one.ears.close();
      }
    });
  }
});
