// SPDX-License-Identifier: MIT
//
// Clients that leave while their request is parked: the node is notified of it at once, not when it has
// something to say, so nothing is handed over to nobody and nothing waits for nobody.
import assert from 'node:assert/strict';
import { FRAME, get, openFrames } from '../support/frames.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { onAll } from '../support/shards.mjs';
import { holdScripts, parked, stop, topicWithCredit, waiting } from './watch.mjs';

// Of whole numbers: parked polls that no round has begun for.
const credits = async (cluster) => {
  const found = await onAll(cluster.redis, 'ZRANGE', 'idle', 0, -1, 'WITHSCORES');
  return found.flat().reduce((sum, one, i) => sum + (i % 2 ? Number(one) : 0), 0);
};

async function send(cluster, path, options) {
  const socket = await cluster.socket({ node: 0 });
  socket.write(`GET ${cluster.path(path, options)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

const poll = (cluster) => send(cluster, '/api/get-new-queries', { as: 'Inference_1', query: { Wait: 120 } });
const lookup = (cluster) => send(cluster, '/api/get-new-lookup', { as: 'Inference_1', query: { Wait: 120 } });
const check = (cluster, Topic) =>
  send(cluster, '/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1, Wait: 120 } });

const pollHistory = (cluster) => send(cluster, '/api/get-new-queries', { as: 'Inference_1', query: { Wait: 120, History: 'true' } });

// Its node is stopped until the claim is handed to it, so that it fetches History when Redis keeps scripts waiting.
async function duringHistory(cluster, poll, act) {
  const socket = await poll();
  await parked(cluster, 0, 1);
  const Topic = await topicWithCredit(cluster);
  await stop(cluster.nodes[0]);
  await cluster.add({ Topic, node: 1 });
  const held = await holdScripts(cluster.redis);
  cluster.nodes[0].signal('SIGCONT');
  await held.blocked();
  await act(socket);
  await held.release();
  const claim = await cluster.claim({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
  assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
  await cluster.answer({ as: 'Inference_2', Topic, Seq: 1 });
}

// Long enough that a claim held by a test is not handed to a parked poll when a slow node confirms its delivery late.
suite('clients that leave', { nodes: 2, args: ['--delivery-seconds', '60'] }, ({ test, cluster }) => {
  for (const leave of ['abort', 'reset', 'end']) {
    test(`parked polls and waiters are let go at once when their clients leave (${leave})`, async () => {
      const { Topic } = await cluster.add();
      await cluster.claim();
      const polls = await Promise.all([poll(cluster), poll(cluster)]);
      const waiters = await Promise.all([check(cluster, Topic), check(cluster, Topic)]);
      await parked(cluster, 0, 2);
      await waiting(cluster, 0, 2);
      await eventually(async () => (await credits(cluster)) === 2, { what: 'two credits are out' });
      for (const socket of [...polls, ...waiters]) socket[leave]();
      await parked(cluster, 0, 0);
      await waiting(cluster, 0, 0);
      await eventually(async () => (await credits(cluster)) === 0, { what: 'their credits are taken back' });
      await cluster.answer({ Topic, Seq: 1 });
    });
  }

  // Of HTTP/2.
  const pollPath = () => cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: 120 } });

  test('parked polls, waiters and streams are let go at once when their HTTP/2 streams are reset', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    const checkPath = () => cluster.path('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1, Wait: 120 } });
    const client = openFrames(cluster.nodes[0].url);
    client.write(get(1, pollPath()), get(3, checkPath()), get(5, checkPath(), { accept: 'text/event-stream' }));
    await parked(cluster, 0, 1);
    await waiting(cluster, 0, 2);
    for (const stream of [1, 3, 5]) await client.cancel(stream);
    await parked(cluster, 0, 0);
    await waiting(cluster, 0, 0);
    await eventually(async () => (await credits(cluster)) === 0, { what: 'its credit is taken back' });
    client.socket.destroy();
    await cluster.answer({ Topic, Seq: 1 });
  });

  test('a claim whose HTTP/2 stream is reset before all of it was sent comes back at once', async () => {
    const client = openFrames(cluster.nodes[0].url, { window: 7 });
    client.write(get(1, pollPath()));
    await parked(cluster, 0, 1);
    const { Topic } = await cluster.add({ node: 1 });
    await eventually(() => client.of(1, FRAME.data).length === 1, { what: 'the answer has begun' });
    await client.cancel(1);
    const claim = await cluster.claim({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
    assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
    client.socket.destroy();
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1 });
  });

  test('a client that only ends its sending side reads the answer of a wait that ended', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    for (const [socket, status, body] of [
      [await poll(cluster), 200, { Topic: null, Queries: null }],
      [await check(cluster, Topic), 200, { Query: 'What is the meaning of life?', Topic, Seq: 1, Answer: null, Think: null }],
      [await lookup(cluster), 404, null],
    ]) {
      socket.end();
      const response = await socket.response();
      assert.equal(response.status, status);
      if (body) assert.deepEqual(JSON.parse(response.text), body);
      assert.equal((await socket.closed()).rest, '');
    }
    await cluster.answer({ Topic, Seq: 1 });
  });

  test('a client that leaves before its request begins to wait is let go', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    for (const start of [poll, lookup, () => check(cluster, Topic)]) {
      const held = await holdScripts(cluster.redis);
      const socket = await start(cluster);
      await held.blocked(); // with its nonce, on several shards
      socket.end();
      await cluster.request('GET', '/livez', { node: 0 }); // the node has seen the end before this
      await held.release();
      await socket.response();
      await parked(cluster, 0, 0);
      await waiting(cluster, 0, 0);
    }
    await cluster.answer({ Topic, Seq: 1 });
  });

  const leave = async (socket) => {
    socket.reset();
    await cluster.request('GET', '/livez', { node: 0 }); // the node has seen the end before this
  };

  test('a claim whose client leaves while its History is fetched is given back at once', () => duringHistory(cluster, () => pollHistory(cluster), leave));

  test('so is one that comes with an answer', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await duringHistory(cluster, async () => {
      const body = JSON.stringify({ Topic, Seq: 1, Query: 'What is the meaning of life?', Answer: ['42'] });
      const path = cluster.path('/api/give-new-answer', { as: 'Inference_1', query: { Next: 'true', Wait: 120, History: 'true' } });
      const socket = await cluster.socket({ node: 0 });
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return socket;
    }, leave);
  });

  test('a request pipelined after a parked poll is served after it, on the same connection', async () => {
    const socket = await poll(cluster);
    await parked(cluster, 0, 1);
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    const { Topic } = await cluster.add({ node: 1 });
    assert.equal(JSON.parse((await socket.response()).text).Topic, Topic);
    assert.equal((await socket.response()).status, 200);
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal((await socket.response()).status, 200);
    socket.abort();
    await cluster.answer({ Topic, Seq: 1 });
  });
});

// What is given back while Redis does not answer is lost: the delivery lease brings it back.
suite('an engine whose History cannot be read', { nodes: 2 }, ({ test, cluster }) => {
  test('gets no claim, and another engine gets it', () =>
    duringHistory(cluster, () => pollHistory(cluster), async (socket) => assert.equal((await socket.response(50_000)).status, 503)));
});

// A delivery lease that is longer than a slow machine takes to see the reset, and far shorter than a lease.
suite('an engine that resets its connection when its claim is there', { nodes: 2, args: ['--delivery-seconds', '6'] }, ({ test, cluster }) => {
  const claimed = (socket) => socket.response();
  const answered = async (socket, Topic) => assert.equal(JSON.parse((await claimed(socket)).text).Topic, Topic);

  test('loses it with the delivery lease, not with the whole one', async () => {
    for (const wait of [120, 0]) {
      const early = wait === 0 ? await cluster.add() : undefined;
      const socket = await send(cluster, '/api/get-new-queries', { as: 'Inference_1', query: { Wait: wait } });
      if (wait > 0) await parked(cluster, 0, 1);
      const { Topic } = early ?? (await cluster.add({ node: 1 }));
      await answered(socket, Topic);
      socket.reset();
      const claim = await cluster.claim({ as: 'Inference_2', wait: 60, detail: true, node: 1 });
      assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease });
    }
  });

  test('loses it so with its stream of HTTP/2, and other streams keep theirs', async () => {
    const client = openFrames(cluster.nodes[0].url);
    const claims = [];
    for (const stream of [1, 3]) {
      const { Topic } = await cluster.add();
      client.write(get(stream, cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: 0 } })));
      await eventually(() => client.isEnded(stream), { what: 'the claim is there' });
      assert.equal(JSON.parse(client.text(stream)).Topic, Topic);
      claims.push(Topic);
    }
    await client.cancel(1);
    const claim = await cluster.claim({ as: 'Inference_2', wait: 60, detail: true, node: 1 });
    assert.deepEqual([claim.Topic, claim.Attempt], [claims[0], 1]);
    assert.equal((await cluster.claim({ as: 'Inference_2', wait: 8, node: 1 })).Topic, null, 'after the delivery lease');
    client.socket.destroy();
    await cluster.answer({ as: 'Inference_2', Topic: claims[0], Seq: 1, Lease: claim.Lease });
    await cluster.answer({ Topic: claims[1], Seq: 1 });
  });

  test('loses one that came with an answer, and a lookup, too', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    const { Topic: next } = await cluster.add();
    const body = JSON.stringify({ Topic, Seq: 1, Query: 'What is the meaning of life?', Answer: ['42'] });
    const path = cluster.path('/api/give-new-answer', { as: 'Inference_1', query: { Next: 'true' } });
    const socket = await cluster.socket({ node: 0 });
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    assert.equal(JSON.parse((await claimed(socket)).text).Next.Topic, next);
    socket.reset();
    const claim = await cluster.claim({ as: 'Inference_2', wait: 60, node: 1 });
    assert.equal(claim.Topic, next);
    await cluster.answer({ as: 'Inference_2', Topic: next, Seq: 1 });
    const { Fingerprint } = (await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq: 1, Fragment: next } })).json;
    const other = await send(cluster, '/api/get-new-lookup', { as: 'Inference_1', query: { Wait: 0 } });
    assert.equal(JSON.parse((await claimed(other)).text).Fingerprint, Fingerprint);
    other.reset();
    assert.equal((await cluster.request('GET', '/api/get-new-lookup', { as: 'Inference_2', query: { Wait: 60 }, timeout: 90_000 })).json.Fingerprint, Fingerprint);
  });

  test('keeps it if it says in time that it is at work', async () => {
    const { Topic } = await cluster.add();
    const socket = await send(cluster, '/api/get-new-queries', { as: 'Inference_1', query: { Wait: 0, Detail: 'true' } });
    const { Lease } = JSON.parse((await claimed(socket)).text);
    // The node has sent all of it before it answers what comes after it on the same connection.
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal((await socket.response()).status, 200);
    socket.reset();
    assert.equal((await cluster.request('POST', '/api/extend-claim', { as: 'Inference_1', body: { Lease, Topic } })).status, 200);
    const { Topic: other } = await cluster.add();
    const claim = await cluster.claim({ as: 'Inference_2', wait: 30, node: 1 });
    assert.equal(claim.Topic, other);
    assert.equal((await cluster.claim({ as: 'Inference_2', wait: 8, node: 1 })).Topic, null, 'after the delivery lease');
    for (const one of [Topic, other]) await cluster.answer({ as: one === Topic ? 'Inference_1' : 'Inference_2', Topic: one, Seq: 1 });
  });
});
