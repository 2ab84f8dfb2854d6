// SPDX-License-Identifier: MIT
//
// Engines that die, leave, are too late or change their mind: the query goes to another one, and what
// comes from the first is recognised by its lease.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http2 from 'node:http2';
import { fileURLToPath } from 'node:url';
import { adopt, assertOk, assertProblem, eventually, exited, newTopic, suite } from '../support/harness.mjs';
import { onAll, topicOn } from '../support/shards.mjs';
import { startLoad } from './load.mjs';
import { becomes, holdScripts, parked, status, waiting } from './watch.mjs';

const EMPTY = { Topic: null, Queries: null };
const OFTEN = ['--rescan-seconds', '1'];
const SHORT = [...OFTEN, '--lease-seconds', '1', '--delivery-seconds', '60'];

// Resolves with what the engine process prints, and the process.
async function startEngine(cluster, node) {
  const file = fileURLToPath(new URL('./engine_process.mjs', import.meta.url));
  const { secret } = cluster.accounts.Inference_1;
  const args = [file, node.url, 'Inference_1', secret];
  const child = adopt(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
  const line = new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.endsWith('\n')) resolve(JSON.parse(text));
    });
    child.once('exit', (code, signal) => reject(new Error(`the engine ended: ${code ?? signal}`)));
  });
  line.catch(() => {});
  return { child, line };
}

suite('an engine that dies', { nodes: 2, args: OFTEN, sweep: false }, ({ test, cluster }) => {
  test('an engine killed in the middle of its answer loses the query to another, and its partial text is gone', async () => {
    const { Topic } = await cluster.add();
    const { child, line } = await startEngine(cluster, cluster.nodes[0]);
    const claim = await line;
    assert.deepEqual([claim.Topic, claim.partial], [Topic, 200]);
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: 1 });
    const waiter = cluster.checkOpen({ Topic, wait: 60, node: 0 });
    await stream.until('token');
    child.kill('SIGKILL');
    await exited(child, 30_000, 'the engine');
    await cluster.endLease(Topic);
    const second = await cluster.claim({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
    assert.deepEqual([second.Topic, second.Attempt], [Topic, 2]);
    assertOk(await cluster.request('POST', '/api/give-partial', { as: 'Inference_2', body: { Topic, Seq: 1, Lease: second.Lease, Offset: 0, Answer: 'The whole ' } }));
    await stream.until('restart'); // when the claim was looked at, or with the first text of it
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: second.Lease, Answer: ['The whole answer.'] });
    assert.deepEqual(assertOk(await waiter.response).Answer, ['The whole answer.']);
    const events = await stream.until('done');
    assert.deepEqual(events.at(-1).data.Answer, ['The whole answer.']);
    const ofTheFirst = events.filter(({ data }) => data?.text?.includes('begins'));
    assert.deepEqual(ofTheFirst, [], 'nothing of the first attempt comes after the restart');
  });

  test('a lease that ends while its engine still works: the late answer is taken while nobody else holds it', async () => {
    const { Topic } = await cluster.add({ node: 0 });
    const waiter = cluster.checkOpen({ Topic, wait: 60, node: 1 });
    const { Lease } = await cluster.claim({ detail: true, node: 0 });
    await cluster.endLease(Topic);
    await becomes(cluster, 'Open', Topic);
    await cluster.answer({ Topic, Seq: 1, Lease, Answer: ['late'], node: 1 });
    assert.deepEqual(assertOk(await waiter.response).Answer, ['late']);
    assert.deepEqual(await cluster.claim(), EMPTY, 'nobody is asked again');
  });

  test('a late answer is refused once another engine holds the query, with or without its lease', async () => {
    const { Topic } = await cluster.add();
    const first = await cluster.claim({ detail: true, node: 0 });
    await cluster.endLease(Topic);
    await becomes(cluster, 'Open', Topic);
    const second = await cluster.claim({ as: 'Inference_2', detail: true, node: 1 });
    assert.equal(second.Topic, Topic);
    for (const Lease of [first.Lease, undefined]) {
      assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Lease, Answer: ['late'] }), 409, 'lease_lost');
    }
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: second.Lease, Answer: ['second'] });
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Lease: first.Lease, Answer: ['late'] }), 409, 'already_done');
    assert.deepEqual((await status(cluster, Topic)).Answer, ['second']);
  });

  test('a query that reverts comes before what its user asked later, also in its own topic', async () => {
    const [Topic, other] = [topicOn(0), topicOn(0)]; // order is kept within a shard
    await cluster.add({ Topic, User: 'dora', Query: 'one' });
    await cluster.claim({ detail: true });
    await cluster.add({ Topic: other, User: 'dora', Query: 'two' });
    await cluster.add({ Topic, User: 'dora', Query: 'three' });
    await cluster.endLease(Topic);
    await becomes(cluster, 'Open', Topic, 1);
    assert.deepEqual(await cluster.claim(), { Topic, Queries: [{ 1: 'one' }, { 2: 'three' }] });
    assert.deepEqual(await cluster.claim(), { Topic: other, Queries: [{ 1: 'two' }] });
    for (const [topic, Seq, Query] of [
      [Topic, 1, 'one'],
      [Topic, 2, 'three'],
      [other, 1, 'two'],
    ]) {
      await cluster.answer({ Topic: topic, Seq, Query });
    }
  });
});

suite('engines that die', { nodes: 2, args: SHORT, sweep: false }, ({ test, cluster }) => {
  test('a query whose engines all die is Failed after the last attempt, and its waiters on both nodes get the reason', async () => {
    const { Topic } = await cluster.add();
    const waiters = [0, 1].map((node) => cluster.checkOpen({ Topic, wait: 120, node })); // three claims, each with a delivery to confirm
    for (const Attempt of [1, 2, 3]) {
      const claim = await cluster.claim({ wait: 60, detail: true });
      assert.deepEqual([claim.Topic, claim.Attempt], [Topic, Attempt]);
    }
    for (const { response } of waiters) {
      const body = assertOk(await response);
      assert.deepEqual([body.Status, body.Answer], ['Failed', null]);
      assert.match(body.Reason, /lease ended/);
    }
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Answer: ['too late'] }), 409, 'failed');
    assert.equal((await status(cluster, Topic)).Status, 'Failed');
    assert.deepEqual(await cluster.claim(), EMPTY);
  });
});

// What is not given back at once comes after all that a test waits for.
const SLOW = ['--rescan-seconds', '3600', '--delivery-seconds', '60'];

suite('a client that leaves', { nodes: 2, args: SLOW, sweep: false }, ({ test, cluster }) => {
  // Ways to pull a plug. Each is given the poll's bytes to send.
  async function rawPoll(node, wait = 60) {
    const socket = await cluster.socket({ node });
    socket.write(
      `GET ${cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: wait } })} HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    return socket;
  }

  for (const [how, pull] of Object.entries({
    'closes its connection': (socket) => socket.abort(),
    'resets its connection': (socket) => socket.reset(),
    'sends FIN': (socket) => socket.end(),
  })) {
    test(`a parked client that ${how} is given no claim: the next one has it at once`, async () => {
      for (const [near, far] of [
        [0, 0],
        [0, 1],
      ]) {
        const sockets = [];
        for (let i = 0; i < 3; i++) sockets.push(await rawPoll(near));
        await parked(cluster, near, 3);
        const live = cluster.claimOpen({ as: 'Inference_2', wait: 30, detail: true, node: far });
        await parked(cluster, far, far === near ? 4 : 1);
        sockets.forEach(pull);
        await cluster.request('GET', '/livez', { node: near });
        const { Topic } = await cluster.add({ node: near });
        const claim = assertOk(await live.response);
        assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
        await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease });
        await parked(cluster, near, 0);
      }
    });
  }

  test('a client that leaves while its claim is under way gives it back at once', async () => {
    const { Topic } = await cluster.add({ node: 0 });
    const held = await holdScripts(cluster.redis);
    const socket = await rawPoll(0);
    await held.blocked();
    socket.reset();
    await cluster.request('GET', '/livez', { node: 0 });
    await held.release();
    const claim = await cluster.claim({ as: 'Inference_2', wait: 20, detail: true, node: 1 });
    assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease });
  });

  test('an HTTP/2 client that resets the stream of its poll is given no claim', async () => {
    const session = http2.connect(cluster.nodes[0].url);
    try {
      const path = cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: 60 } });
      const poll = session.request({ ':path': path });
      poll.on('error', () => {});
      poll.end();
      await parked(cluster, 0, 1);
      poll.close(http2.constants.NGHTTP2_CANCEL);
      await parked(cluster, 0, 0);
      const { Topic } = await cluster.add({ node: 0 });
      assert.equal((await status(cluster, Topic)).Status, 'Open');
      await cluster.claim({ node: 1 });
      await cluster.answer({ Topic, Seq: 1 });
    } finally {
      session.destroy();
    }
  });

  test('waiters that leave do not keep the answer from those that stay', async () => {
    const { Topic } = await cluster.add();
    const leaving = Array.from({ length: 6 }, (_, i) => cluster.checkOpen({ Topic, wait: 60, node: i % 2 }));
    const staying = [0, 1].map((node) => cluster.checkOpen({ Topic, wait: 60, node }));
    await waiting(cluster, 0, 4);
    await waiting(cluster, 1, 4);
    leaving.forEach((request) => request.abort());
    await cluster.claim({ node: 0 });
    await cluster.answer({ Topic, Seq: 1, node: 1 });
    for (const { response } of staying) assert.deepEqual(assertOk(await response).Answer, ['42']);
  });
});

suite('two answers at once', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  // Both answers are in Redis's hands before the first of them runs.
  async function race(Topic, one, two) {
    const held = await holdScripts(cluster.redis);
    const answers = [
      cluster.answerRaw({ Topic, Seq: 1, node: 0, ...one }),
      cluster.answerRaw({ Topic, Seq: 1, node: 1, ...two }),
    ];
    await held.blocked(2);
    await held.release();
    return Promise.all(answers);
  }

  async function openAgain() {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Reason: 'x' } }));
    return Topic;
  }

  test('two engines that answer the same query at once: one answer is stored, the other engine gets already_done', async () => {
    for (let i = 0; i < 5; i++) {
      const Topic = await openAgain();
      const waiter = cluster.checkOpen({ Topic, wait: 30 });
      const responses = await race(Topic, { Answer: ['one'] }, { as: 'Inference_2', Answer: ['two'] });
      assert.deepEqual(responses.map((response) => response.status).sort(), [200, 409]);
      const stored = responses[0].status === 200 ? 'one' : 'two';
      assertProblem(
        responses.find((response) => response.status === 409),
        409,
        'already_done',
      );
      assert.deepEqual((await status(cluster, Topic)).Answer, [stored]);
      assert.deepEqual(assertOk(await waiter.response).Answer, [stored]);
    }
  });

  test('parameters beside an answer (Next, Models with escapes) do not get into what is stored', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim({ wait: 10 });
    await cluster.answer({ Topic, Seq: 1, Answer: ['as it was sent'], next: true, query: { Models: 'small,large' } });
    assert.deepEqual((await status(cluster, Topic)).Answer, ['as it was sent']);
  });

  test('two identical simultaneous answers both get 200 with the same timestamp', async () => {
    const Topic = await openAgain();
    const [one, two] = await race(Topic, {}, { as: 'Inference_2' });
    assert.deepEqual(assertOk(one), assertOk(two));
  });

  test('an answer and a cancel at once: whichever was first stays', async () => {
    for (let i = 0; i < 5; i++) {
      const Topic = await openAgain();
      const held = await holdScripts(cluster.redis);
      const answered = cluster.answerRaw({ Topic, Seq: 1, node: i % 2 });
      const cancelled = cluster.request('POST', '/api/cancel-query', {
        as: 'Frontend_1',
        body: { Topic, Seq: 1 },
        node: (i + 1) % 2,
      });
      await held.blocked(2);
      await held.release();
      const [answer, cancel] = [await answered, await cancelled];
      const { Status } = await status(cluster, Topic);
      assert.deepEqual([answer.status, cancel.status], Status === 'Done' ? [200, 409] : [409, 200]);
      assert.equal(Status, answer.status === 200 ? 'Done' : 'Cancelled');
    }
    assert.deepEqual(await cluster.claim(), EMPTY);
  });

  test('two polls at once never get the same query', async () => {
    for (let i = 0; i < 5; i++) {
      const topics = [(await cluster.add()).Topic, (await cluster.add()).Topic];
      const held = await holdScripts(cluster.redis);
      const polls = [0, 1].map((node) => cluster.claimRaw({ as: `Inference_${node + 1}`, node }));
      await held.blocked(2);
      await held.release();
      const owners = (await Promise.all(polls)).map((response) => assertOk(response).Topic);
      assert.deepEqual([...owners].sort(), topics.sort());
      for (const [j, Topic] of owners.entries()) await cluster.answer({ as: `Inference_${j + 1}`, Topic, Seq: 1 });
    }
  });
});

suite('an engine or a user that changes its mind', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  const post = (path, as, body, options = {}) => cluster.request('POST', path, { as, body, ...options });

  test('what an engine gives back is with a parked poll of the other node before the reply is read', async () => {
    const { Topic } = await cluster.add({ node: 0 });
    const { Lease } = await cluster.claim({ detail: true, node: 0 });
    const poll = cluster.claimOpen({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
    await parked(cluster, 1, 1);
    assertOk(await post('/api/release-claim', 'Inference_1', { Topic, Lease, Reason: 'busy' }, { node: 0 }));
    const claim = assertOk(await poll.response);
    assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 2]);
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Lease, Answer: ['old'] }), 409, 'lease_lost');
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease });
  });

  test('a query cancelled during work stays cancelled: the engine and waiters are notified, its answer is refused', async () => {
    const { Topic } = await cluster.add();
    const waiters = [0, 1].map((node) => cluster.checkOpen({ Topic, wait: 30, node }));
    const { Lease } = await cluster.claim({ detail: true, node: 0 });
    assertOk(await post('/api/cancel-query', 'Frontend_1', { Topic, Seq: 1 }, { node: 1 }));
    for (const { response } of waiters) assert.equal(assertOk(await response).Status, 'Cancelled');
    const partial = await post('/api/give-partial', 'Inference_1', { Topic, Seq: 1, Lease, Offset: 0, Answer: 'x' });
    assert.equal(assertOk(partial).Cancelled, true);
    assert.deepEqual(assertOk(await post('/api/extend-claim', 'Inference_1', { Topic, Lease })).Cancelled, [1]);
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Lease }), 409, 'cancelled');
    assert.equal((await status(cluster, Topic)).Status, 'Cancelled');
    assert.deepEqual(await cluster.claim(), EMPTY);
  });

  test('a topic deleted during a claim is gone: waiters and the engine get 404, and the topic can be created again', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'old' });
    const waiters = [0, 1].map((node) => cluster.checkOpen({ Topic, wait: 30, node }));
    await waiting(cluster, 0, 1);
    await waiting(cluster, 1, 1);
    const { Lease } = await cluster.claim({ detail: true, node: 0 });
    const gone = { as: 'Frontend_1', query: { OnBehalfOf: 'alice', Topic }, node: 1 };
    assertOk(await cluster.request('DELETE', '/api/topic', gone));
    for (const { response } of waiters) assertProblem(await response, 404);
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Query: 'old', Lease }), 404);
    assertProblem(await post('/api/extend-claim', 'Inference_1', { Topic, Lease }), 409, 'lease_lost');
    assert.deepEqual((await onAll(cluster.redis, 'ZRANGE', 'leases', 0, -1)).flat(), []);
    assert.equal((await cluster.add({ Topic, Query: 'new' })).Seq, 1);
    const again = await cluster.claim({ detail: true, as: 'Inference_2' });
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Query: 'old', Lease }), 409);
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Query: 'new', Lease: again.Lease });
    assert.equal((await status(cluster, Topic)).Status, 'Done');
  });

  test('a newer poll of an engine ends its older one: on either node, with other Models, and in a burst', async () => {
    for (const [older, newer, models] of [
      [0, 0, undefined],
      [0, 1, undefined],
      [1, 0, undefined],
      [0, 0, 'other'],
      [0, 1, 'other'],
    ]) {
      const engine = `gpu-${newTopic()}`;
      const first = cluster.claimOpen({ wait: 60, engine, node: older });
      await parked(cluster, older, 1);
      const second = cluster.claimOpen({ wait: 60, engine, models, node: newer });
      assert.deepEqual(assertOk(await first.response), EMPTY, `${older} ${newer} ${models}`);
      const { Topic } = await cluster.add();
      assert.equal(assertOk(await second.response).Topic, Topic);
      await cluster.answer({ Topic, Seq: 1 });
    }
    const engine = `gpu-${newTopic()}`;
    const polls = Array.from({ length: 10 }, (_, i) => cluster.claimOpen({ wait: 60, engine, node: i % 2 }));
    let ended = 0;
    for (const { response } of polls) {
      response.then((one) => (ended += assertOk(one).Topic === null ? 1 : 0)).catch(() => {});
    }
    await eventually(() => ended === 9, { what: 'all polls but the newest end' });
    const { Topic } = await cluster.add();
    assert.ok((await Promise.all(polls.map(({ response }) => response))).some(({ json }) => json.Topic === Topic));
    await cluster.answer({ Topic, Seq: 1 });
  });

  test('partial answers and leases under load: every query ends once', async () => {
    const load = startLoad(cluster, { frontends: 3, engines: 4, partials: true });
    try {
      await load.reached(40);
      const states = await load.finish();
      assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    } finally {
      load.abort();
    }
  });
});
