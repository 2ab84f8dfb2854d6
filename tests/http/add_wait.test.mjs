// SPDX-License-Identifier: MIT
//
// POST /api/add-query?Wait=, ask and wait in one request, plain and as a stream.
import assert from 'node:assert/strict';
import { ready } from '../cluster/watch.mjs';
import { assertMembers, assertOk, assertProblem, assertTimestamp, assertZonelessTimestamp, eventually, newNonce, newTopic, SLOW_RESCUE, startCluster, suite } from '../support/harness.mjs';

const PLAIN = ['Query', 'Topic', 'Seq', 'Answer', 'Think'];
const valid = (more = {}) => ({ Topic: newTopic(), User: 'alice', Query: 'Why?', ...more });

// An add that waits: {body, response, sent, abort()}.
function openAsk(cluster, { body = valid(), wait = 30, as = 'Frontend_1', query = {}, ...options } = {}) {
  return { body, ...cluster.open('POST', '/api/add-query', { as, body, query: { Wait: wait, ...query }, timeout: wait * 1000 + 15_000, ...options }) };
}

const isStored = (cluster, { Topic }, Seq = 1) =>
  eventually(async () => (await cluster.checkRaw({ Topic, Seq })).status === 200, { what: `${Topic} is stored` });
const callsOf = async (cluster, verb) => {
  const counts = await Promise.all(cluster.nodes.map(async (node) => {
    const { text } = await cluster.request('GET', '/metrics', { node });
    return Number(new RegExp(`^parley_verb_calls_total\\{verb="${verb}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
  }));
  return counts.reduce((a, b) => a + b, 0);
};
const parkedOf = async (cluster, node) => /^parley_checks_parked (\d+)/m.exec((await cluster.request('GET', '/metrics', { node })).text)[1];

suite('add-query with Wait', { args: SLOW_RESCUE }, ({ test, cluster }) => {
  const ask = (options) => openAsk(cluster, options);

  test('an engine on the other node answers: the same object as check-query, member for member', async () => {
    for (const node of [0, 1]) {
      const poll = cluster.claimOpen({ wait: 30, node: 1 - node });
      await poll.sent;
      const { body, response } = ask({ node });
      const claim = assertOk(await poll.response);
      assert.equal(claim.Topic, body.Topic);
      await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?', Think: ['Hm.'], Answer: ['42', 'or so'], node: 1 - node });
      const answered = assertOk(await response);
      assert.deepEqual(answered, { Query: 'Why?', Topic: body.Topic, Seq: 1, Answer: ['42', 'or so'], Think: ['Hm.'] });
      assert.deepEqual(answered, await cluster.check({ Topic: body.Topic }));
    }
  });

  test('it costs one call of a verb: nobody looks again', async () => {
    const [adds, checks] = [await callsOf(cluster, 'add'), await callsOf(cluster, 'check')];
    for (let i = 0; i < 10; i++) {
      const { body, response } = ask();
      const { Topic } = await eventually(async () => {
        const claim = await cluster.claim();
        return claim.Topic && claim;
      });
      assert.equal(Topic, body.Topic);
      await cluster.answer({ Topic, Seq: 1, Query: 'Why?' });
      assert.deepEqual(assertOk(await response).Answer, ['42']);
    }
    assert.equal((await callsOf(cluster, 'add')) - adds, 10);
    assert.ok((await callsOf(cluster, 'check')) - checks <= 1, 'one look at most: when the outcome arrives before the reply to the add');
  });

  test('at the end of the wait: Topic, Seq and nulls, and the question stays open', async () => {
    for (const wait of [0, 1]) {
      const { body, response } = ask({ wait });
      assert.deepEqual(assertOk(await response), { Query: 'Why?', Topic: body.Topic, Seq: 1, Answer: null, Think: null });
      assert.deepEqual((await cluster.claim()).Queries, [{ 1: 'Why?' }]);
    }
  });

  test('Detail adds what check-query adds', async () => {
    const { response } = ask({ wait: 0, query: { Detail: 'true' } });
    const open = assertOk(await response);
    assertMembers(open, [...PLAIN, 'Status', 'Model', 'Timestamp', 'Position', 'EtaSeconds']);
    assert.equal(open.Status, 'Open');
    assert.equal(open.Position, 0);
    assertTimestamp(open.Timestamp);
  });

  test('without Wait it is answered at once, stream or not', async () => {
    const body = valid();
    assertMembers(assertOk(await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body })), ['Topic', 'Seq', 'Timestamp']);
    assertMembers(assertOk(await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body, headers: { Accept: 'text/event-stream' } })), ['Topic', 'Seq', 'Timestamp']);
  });

  test('Wait goes from 0 to 120, and a wrong one stores nothing', async () => {
    for (const Wait of ['-1', '121', 'soon', '', '1e9', '99999999999999999999']) {
      const { body, response } = ask({ query: { Wait } });
      assertProblem(await response, 400);
      assertProblem(await cluster.checkRaw({ Topic: body.Topic }), 404);
    }
  });

  test('a client that hangs up does not cancel', async () => {
    const { body, abort } = ask();
    await isStored(cluster, body);
    abort();
    for (const node of [0, 1]) await eventually(async () => (await parkedOf(cluster, node)) === '0', { what: 'nobody waits' });
    assert.equal((await cluster.claim()).Topic, body.Topic);
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?' });
    assert.deepEqual((await cluster.check({ Topic: body.Topic })).Answer, ['42']);
  });

  test('a cancelled or failed question is answered at once, with its reason', async () => {
    const cancelled = ask();
    await isStored(cluster, cancelled.body);
    assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic: cancelled.body.Topic, Seq: 1 } }));
    assert.equal(assertOk(await cancelled.response).Status, 'Cancelled');
    const failed = ask();
    const claim = await eventually(async () => {
      const got = await cluster.claim({ detail: true });
      return got.Topic && got;
    });
    assert.equal((await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic: claim.Topic, Lease: claim.Lease, Reason: 'no such model', Retry: false } })).status, 200);
    const body = assertOk(await failed.response);
    assert.equal(body.Status, 'Failed');
    assert.match(body.Reason, /no such model/);
  });

  test('a topic that is deleted meanwhile: 404 at once', async () => {
    const { body, response } = ask();
    await isStored(cluster, body);
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: 'alice', Topic: body.Topic } }));
    const problem = await response;
    assert.ok(problem.status === 404 || problem.json.Status === 'Cancelled', problem.text);
  });

  test('each of many in one topic gets its own answer', async () => {
    const Topic = newTopic();
    const asked = Array.from({ length: 20 }, (_, i) => ask({ body: valid({ Topic, Query: `q${i}` }) }));
    let left = asked.length;
    while (left > 0) {
      const { Topic: claimed, Queries } = await cluster.claim();
      for (const entry of Queries ?? []) {
        const [[Seq, Query]] = Object.entries(entry);
        await cluster.answer({ Topic: claimed, Seq: Number(Seq), Query, Answer: [`to ${Query}`] });
        left--;
      }
    }
    for (const [i, { response }] of asked.entries()) {
      const body = assertOk(await response);
      assert.deepEqual([body.Query, body.Answer], [`q${i}`, [`to q${i}`]]);
    }
  });

  test('an answer that is too large for a message comes all the same', async () => {
    const { body, response } = ask();
    await eventually(async () => (await cluster.claim()).Topic === body.Topic);
    const large = 'x'.repeat(200_000);
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?', Answer: [large] });
    assert.deepEqual(assertOk(await response).Answer, [large]);
  });

  test('with an Idempotency-Key whose question is there it waits for that one', async () => {
    const body = valid();
    const headers = { 'Idempotency-Key': `key-${newNonce()}` };
    assert.equal(assertOk(await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body, headers })).Seq, 1);
    const waiting = [0, 1].map((node) => ask({ body, headers, node }));
    await Promise.all(waiting.map(({ sent }) => sent));
    assert.equal((await cluster.claim()).Topic, body.Topic);
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?' });
    for (const { response } of waiting) assert.deepEqual(assertOk(await response).Answer, ['42']);
    assert.deepEqual(assertOk(await ask({ body, headers }).response).Answer, ['42'], 'at once when it is done');
    assertProblem(await ask({ body: { ...body, Query: 'Why not?' }, headers }).response, 422, 'idempotency_mismatch');
    assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
  });

  test('a user waits for its own, and not in a topic of somebody else', async () => {
    const mine = ask({ as: 'User_1', body: valid({ User: 'User_1' }), wait: 0 });
    assert.equal(assertOk(await mine.response).Seq, 1);
    assertProblem(await ask({ as: 'User_2', body: valid({ User: 'User_2', Topic: mine.body.Topic }) }).response, 404, 'not_found');
    assertProblem(await ask({ as: 'User_2', body: valid({ User: 'User_1' }) }).response, 403);
    assertProblem(await ask({ as: 'Inference_1' }).response, 403);
  });

  test('the largest question there may be waits, and so do a hundred beside it', async () => {
    const Query = 'é'.repeat(128 * 1024);
    const many = Array.from({ length: 100 }, (_, i) => ask({ body: valid({ User: `u${i}`, Query: i === 0 ? Query : `q${i}` }), wait: 60 }));
    for (let left = many.length; left > 0; ) {
      const { Topic, Queries } = await cluster.claim();
      for (const entry of Queries ?? []) {
        const [[Seq, text]] = Object.entries(entry);
        await cluster.answer({ Topic, Seq: Number(Seq), Query: text, Answer: [text.slice(0, 9)] });
        left--;
      }
    }
    for (const { body, response } of many) assert.deepEqual(assertOk(await response).Answer, [body.Query.slice(0, 9)]);
  });

  test('the dialect of deployed clients: the answer as its check-query gives it', async () => {
    const accounts = { ...cluster.accounts, Old: { secret: 'old-secret-of-the-test', role: 'frontend', dialect: 'deployed' } };
    const other = await startCluster({ nodes: 1, accounts });
    try {
      const { body, response } = openAsk(other, { as: 'Old', wait: 0, body: valid({ Query: 'What is it all about?', Modifiers: { Category: 'HR' } }) });
      assert.deepEqual(assertOk(await response), { Query: 'Category: HR\n.....\nWhat is it all about?', Topic: body.Topic, Seq: 1, Answer: null, Think: null });
    } finally {
      await other.stop();
    }
  });

  test('a node that drains answers what waits: Topic, Seq and nulls', async () => {
    const node = await cluster.startNode();
    const { body, response } = openAsk(cluster, { node });
    await isStored(cluster, body);
    const stopped = node.stop();
    assert.deepEqual(assertOk(await response), { Query: 'Why?', Topic: body.Topic, Seq: 1, Answer: null, Think: null });
    await stopped;
    assert.equal((await cluster.claim({ node: 0 })).Topic, body.Topic);
  });

  // --- as a stream

  const stream = ({ body = valid(), wait = 30, as = 'Frontend_1', query = {}, ...options } = {}) =>
    cluster.stream('/api/add-query', { method: 'POST', as, body, query: { Wait: wait, ...query }, ...options });

  test('a stream begins with what add-query answers, then follows the answer to its end', async () => {
    const body = valid();
    const events = await stream({ body, node: 0 });
    assert.equal(events.status, 200);
    const added = await events.next();
    assert.equal(added.event, 'added');
    assert.deepEqual([added.data.Topic, added.data.Seq, added.id], [body.Topic, 1, undefined]);
    assertZonelessTimestamp(added.data.Timestamp);
    assert.equal((await events.next()).event, 'queue');
    const { Lease } = await cluster.claim({ detail: true, node: 1 });
    assertOk(await cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { Topic: body.Topic, Seq: 1, Lease, Offset: 0, Answer: 'Be' }, node: 1 }));
    assert.deepEqual((await events.next()).data, { text: 'Be' });
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?', Answer: ['Because.'], node: 1 });
    const rest = await events.until('done');
    assert.deepEqual(rest.filter(({ event }) => event === 'token').map(({ data }) => data.text), ['cause.']);
    assert.deepEqual(rest.at(-1).data, { Query: 'Why?', Topic: body.Topic, Seq: 1, Answer: ['Because.'], Think: null });
    await events.ended();
  });

  test('the same request with Last-Event-ID resumes a broken stream on the other node', async () => {
    const body = valid();
    const headers = { 'Idempotency-Key': `key-${newNonce()}` };
    const first = await stream({ body, headers, node: 0 });
    await first.until('queue');
    const { Lease } = await cluster.claim({ detail: true });
    assertOk(await cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { Topic: body.Topic, Seq: 1, Lease, Offset: 0, Answer: 'One. ' } }));
    const token = await first.next();
    first.abort();
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?', Answer: ['One. Two.'] });
    const second = await stream({ body, headers: { ...headers, 'Last-Event-ID': token.id }, node: 1 });
    const events = await second.until('done');
    assert.deepEqual(events.map(({ event, data }) => [event, data.text ?? data.Seq]), [['added', 1], ['token', 'Two.'], ['done', 1]]);
  });

  test('a new question is given whole, whatever its client says that it has', async () => {
    const body = valid();
    const events = await stream({ body, headers: { 'Last-Event-ID': '7-7' } });
    await eventually(async () => (await cluster.claim()).Topic === body.Topic);
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?', Answer: ['All of it.'] });
    const tokens = (await events.until('done')).filter(({ event }) => event === 'token');
    assert.deepEqual(tokens.map(({ data }) => data.text), ['All of it.']);
  });

  test('a stream that is refused is a plain answer', async () => {
    const events = await stream({ body: valid({ Query: '' }) });
    assert.equal(events.status, 400);
    events.abort();
  });

  test('a stream whose client leaves does not cancel', async () => {
    const body = valid();
    const events = await stream({ body });
    await events.next();
    events.abort();
    assert.equal((await eventually(async () => (await cluster.check({ Topic: body.Topic, detail: true })).Status)), 'Open');
  });
});

suite('add-query with Wait where there is no room', { args: ['--queue-max', '4'] }, ({ test, cluster }) => {
  test('a full queue refuses as add-query does, and nobody waits', async () => {
    const refusals = [];
    for (let i = 0; i < 6; i++) {
      const { response, abort, body } = openAsk(cluster, { body: valid({ User: `u${i}` }), node: 0 });
      const first = await Promise.race([response, isStored(cluster, body).then(() => null)]);
      if (first) refusals.push(first);
      else abort();
    }
    assert.ok(refusals.length >= 2);
    for (const refused of refusals) {
      assert.ok([429, 503].includes(refused.status), refused.text);
      assert.ok(Number(refused.headers['retry-after']) > 0 || 'depth' in refused.json);
    }
    await eventually(async () => (await parkedOf(cluster, 0)) === '0', { what: 'nobody waits' });
  });
});

suite('add-query with Wait in an outage', { aof: true }, ({ test, cluster }) => {
  // Its node has Redis's reply: before, it cannot know whether the query is stored.
  const openStored = async (options) => {
    const before = await callsOf(cluster, 'add');
    const asked = openAsk(cluster, options);
    await eventually(async () => (await callsOf(cluster, 'add')) > before, { what: 'the node knows that it is stored' });
    return asked;
  };

  test('Redis that restarts meanwhile: it waits on, and gets its answer', async () => {
    const { body, response } = await openStored({ wait: 60, node: 0 });
    await cluster.redis.restart();
    await ready(cluster, 1);
    await eventually(async () => (await cluster.claimRaw({ node: 1 })).json?.Topic === body.Topic, { ms: 30_000, what: 'the claim' });
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?', node: 1 });
    assert.deepEqual(assertOk(await response).Answer, ['42']);
  });

  test('Redis that is away at the end of the wait: Topic and Seq, since the question is stored', async () => {
    const { body, response } = await openStored({ wait: 3, node: 0, body: valid({ Modifiers: { a: 1 } }), query: { Detail: 'true' } });
    await cluster.redis.kill();
    const answered = assertOk(await response);
    assert.deepEqual([answered.Topic, answered.Seq, answered.Query, answered.Answer, answered.Status, answered.Model], [body.Topic, 1, 'Why?', null, 'Open', 'default']);
    assertTimestamp(answered.Timestamp);
    assertProblem(await openAsk(cluster, { wait: 3, node: 0 }).response, 503);
    await cluster.redis.restart();
    await isStored(cluster, body);
  });
});
