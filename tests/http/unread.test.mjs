// SPDX-License-Identifier: MIT
//
// Long answers that clients leave unread are bounded per node and per address, like request bodies. A client that reads
// nothing for a while is closed when another one needs the memory. Answers that are put together from several replies
// count from the first one on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { assertOk, eventually, newTopic, RELEASE_BIN, suite } from '../support/harness.mjs';
import { ownShards, prefixOfShard } from '../support/shards.mjs';
import { connectTo } from '../support/tls.mjs';
import { startRedisCluster } from '../support/topology.mjs';
import { byToken } from '../cluster/watch.mjs';

ownShards(); // answers are kept by nodes: the same on any number of shards

const LENGTH = 1_000_000;
const MIB = 1024 * 1024;
const [HOME, ELSEWHERE] = ['127.0.0.1', '127.0.0.2'];

// How the tests ask a cluster for long answers and leave them unread.
function clientsOf(cluster) {
  const metric = async (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await cluster.request('GET', '/metrics?Cluster=false')).text)[1]);
  const held = () => metric('parley_unread_bytes');

  const longAnswer = async (length = LENGTH) => {
    const added = await cluster.add({ Topic: newTopic() });
    await cluster.claim();
    await cluster.answer({ Topic: added.Topic, Seq: 1, Answer: ['a'.repeat(length)] });
    return added.Topic;
  };

  // A client that asks and does not read until `read` is called: then all that comes, to the end of the answer or of the
  // connection.
  const ask = (topic, from = HOME, accept = '*/*') =>
    send(from, accept, cluster.path('/api/check-query', { as: 'Frontend_1', query: { Topic: topic, Seq: 1, Wait: 0 } }));
  const send = (from, accept, path, headers = {}) => {
    const socket = connectTo(cluster.nodes[0].url, { localAddress: from });
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\nConnection: close\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    const read = async () => {
      const chunks = [];
      socket.on('data', (chunk) => chunks.push(chunk));
      await new Promise((resolve) => socket.on('close', resolve));
      return Buffer.concat(chunks).toString();
    };
    return { socket, read };
  };
  const unread = async (begin) => {
    const before = await held();
    const client = begin();
    await eventually(async () => (await held()) > before, { what: 'an answer is kept' });
    return client;
  };
  const leave = async (clients) => {
    for (const { socket } of clients) socket.destroy();
    await eventually(async () => (await held()) === 0, { what: 'nothing is kept' });
  };
  return { metric, held, longAnswer, ask, send, unread, leave };
}

const status = (text) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
const longerThanPatience = () => new Promise((resolve) => setTimeout(resolve, 5500));

// A node that keeps 4 MiB of answers, and 2 MiB for one address: two of LENGTH.
suite('answers that are not read', { nodes: 1, args: ['--threads=1', '--body-memory-mib=4', '--delivery-seconds=60'] }, ({ test, cluster }) => {
  const { metric, held, longAnswer, send, leave, ...asking } = clientsOf(cluster);
  let Topic;
  const ask = (from, { accept, topic = Topic } = {}) => asking.ask(topic, from, accept);
  const unread = (from, begin = ask) => asking.unread(() => begin(from));

  test('over its share of them an address gets 503 for long answers, others and short answers do not', async () => {
    Topic = await longAnswer();
    const clients = [await unread(), await unread()];
    assert.ok((await held()) >= 2 * LENGTH);
    const refused = await ask().read();
    assert.equal(status(refused), 503, refused.slice(0, 300));
    assert.match(refused, /\r\nretry-after: \d+\r\n/i);
    assert.match(refused, /"code":\s*"busy"/);
    assert.equal(status(await ask(HOME, { topic: (await cluster.add({ Topic: newTopic() })).Topic }).read()), 200);
    assert.equal(status(await ask(ELSEWHERE).read()), 200);
    const one = clients.shift();
    assert.ok((await one.read()).length > LENGTH, 'what was kept is read after all');
    await eventually(async () => (await held()) < 2 * LENGTH);
    assert.equal(status(await ask().read()), 200);
    await leave(clients);
    await cluster.claim(); // what was asked above
  });

  test('the kernel takes little of an unread answer: the rest stays with libh2o and is counted', async () => {
    Topic = await longAnswer();
    const clients = [await unread(), await unread(ELSEWHERE)];
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.ok((await held()) >= 2 * LENGTH);
    await leave(clients);
  });

  test('claims are handed over even when the address is over its share', async () => {
    Topic = await longAnswer();
    const clients = [await unread(), await unread()];
    const added = await cluster.add({ Topic: newTopic(), Query: 'q'.repeat(200_000) });
    const claim = await cluster.claim();
    assert.equal(claim.Topic, added.Topic);
    await leave(clients);
  });

  test('an event stream is cut off, and its reader asks again', async () => {
    Topic = await longAnswer();
    const clients = [await unread(), await unread()];
    const cut = await ask(HOME, { accept: 'text/event-stream' }).read();
    assert.equal(status(cut), 200);
    assert.ok(cut.length < LENGTH / 2 && !cut.includes('event: done'), cut.slice(0, 300));
    await leave(clients);
    assert.ok((await ask(HOME, { accept: 'text/event-stream' }).read()).length > LENGTH);
  });

  test('a claim is Open again after the connection of its engine was closed to make room', async () => {
    Topic = await longAnswer();
    const added = await cluster.add({ Topic: newTopic(), Query: 'q'.repeat(250_000) });
    for (let i = 0; i < 3; i++) await cluster.add({ Topic: added.Topic, Query: 'q'.repeat(250_000) });
    const poll = (from) => send(from, '*/*', cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: 0 } }));
    const clients = [await unread(HOME, poll), await unread()];
    await longerThanPatience();
    assert.deepEqual((await cluster.claim()).Topic, null);
    assert.equal(status(await ask().read()), 200);
    await eventually(async () => (await cluster.claim()).Topic === added.Topic, { what: 'it is given back' });
    await leave(clients);
  });

  test('downloads of files count as other answers do', async () => {
    const headers = { Authorization: `Bearer ${(await cluster.request('GET', '/api/login', { as: 'User_1' })).json.Token}` };
    const form = new FormData();
    form.append('purpose', 'user_data');
    form.append('file', new File([Buffer.alloc(LENGTH, 'a')], 'a'));
    const uploaded = await fetch(`${cluster.nodes[0].url}/v1/files`, { method: 'POST', body: form, headers });
    assert.equal(uploaded.status, 200, await uploaded.clone().text());
    const { id } = await uploaded.json();
    const download = (from = HOME) => send(from, '*/*', `/v1/files/${id}/content`, headers);
    const clients = [await unread(HOME, download), await unread(HOME, download)];
    const refused = await download().read();
    assert.equal(status(refused), 503, refused.slice(0, 300));
    assert.match(refused, /"code":\s*"busy"/);
    assert.ok((await download(ELSEWHERE).read()).length > LENGTH);
    assert.ok((await clients.pop().read()).length > LENGTH, 'what waited is read to its end');
    await leave(clients);
  });

  test('a client that reads slowly keeps its connection, one that reads nothing loses it', async () => {
    Topic = await longAnswer();
    const [slow, silent] = [await unread(), await unread()];
    let n = 0;
    const reading = setInterval(() => (n += slow.socket.read(16_384)?.length ?? slow.socket.read()?.length ?? 0), 300);
    await longerThanPatience();
    assert.equal(status(await ask().read()), 200);
    clearInterval(reading);
    assert.ok(n > 65_536, `${n} bytes were read slowly`);
    assert.ok(n + (await slow.read()).length > LENGTH);
    assert.ok((await silent.read()).length < LENGTH);
    await leave([]);
  });

  test('a client that has read nothing for five seconds is closed to make room for others', async () => {
    Topic = await longAnswer();
    const clients = [await unread(), await unread()];
    await longerThanPatience();
    const closed = await metric('parley_connections_unread_closed_total');
    assert.equal(status(await ask().read()), 200);
    assert.equal((await metric('parley_connections_unread_closed_total')) - closed, 1);
    assert.ok((await clients[0].read()).length < LENGTH, 'the oldest one was closed');
    assert.ok((await clients[1].read()).length > LENGTH);
    await leave([]);
  });

  test('a client that takes nothing for a minute is cut off', async () => {
    Topic = await longAnswer();
    const client = await unread();
    await eventually(async () => (await held()) === 0, { ms: 100_000, every: 1000, what: 'its connection is closed' });
    assert.ok((await client.read()).length < LENGTH);
  });
});

// The same bounds for lists. One that is over them is sent all the same if it is the only one.
const LISTS = ['--threads=1', '--body-memory-mib=4'];
const statusesOf = async (clients) => (await Promise.all(clients.map((client) => client.read()))).map((text) => {
  if (status(text) === 503) assert.match(text, /"code":\s*"busy"/);
  return status(text);
});

const peakMib = ({ child }) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;

suite('long lists that many ask for at once', { nodes: 1, bin: RELEASE_BIN, args: LISTS }, ({ test, cluster }) => {
  test('a list in several pages counts while it is put together: those that do not fit get 503, and nothing stays counted', async () => {
    const { held, send, leave } = clientsOf(cluster);
    const Topic = newTopic(), Query = 'q'.repeat(250_000);
    for (let Seq = 1; Seq <= 12; Seq++) {
      await cluster.add({ Topic, Query });
      await cluster.claim();
      await cluster.answer({ Topic, Seq, Query });
    }
    const ask = (from = HOME) => send(from, '*/*', cluster.path('/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }));
    const alone = await ask().read();
    assert.equal(status(alone), 200);
    assert.ok(alone.length > 12 * Query.length);
    const before = peakMib(cluster.nodes[0]);
    const statuses = await statusesOf(Array.from({ length: 300 }, () => ask()));
    assert.ok(statuses.includes(200) && statuses.includes(503), `${statuses}`);
    const grown = peakMib(cluster.nodes[0]) - before;
    assert.ok(grown < 100, `by ${grown} MiB`);
    await leave([]);
    assert.equal(await held(), 0);
    assert.equal(status(await ask().read()), 200);
  });
});

// A master that is late, and is not given up.
const patient = () => startRedisCluster({ masters: 3, replicas: 0, nodeTimeoutMs: 60_000 });

suite('lists of several shards that many ask for at once', { nodes: 1, redis: patient, args: [...LISTS, '--shards=2'] }, ({ test, cluster }) => {
  test('what some shards have replied counts while another one is late', async () => {
    const { held, send, leave } = clientsOf(cluster);
    const token = await byToken(cluster, 'Frontend_1');
    const User = 'alice', Query = 'q'.repeat(250);
    for (let i = 0; i < 500; i++) {
      const { Topic } = await cluster.add({ Topic: newTopic(), User, Query });
      await cluster.claim();
      await cluster.answer({ Topic, Seq: 1, Query });
    }
    const path = cluster.path('/api/user-topics', { query: { OnBehalfOf: User } });
    const ask = () => send(HOME, '*/*', path, token.headers);
    const one = await ask().read();
    assert.equal(status(one), 200);
    assert.ok(one.length > 500 * 200);
    const late = await cluster.redis.ownerOf(await cluster.redis.slotOf(prefixOfShard(1)));
    assert.notEqual(late, await cluster.redis.ownerOf(await cluster.redis.slotOf(prefixOfShard(0))));
    late.pause();
    const clients = Array.from({ length: 100 }, ask);
    try {
      await eventually(async () => (await held()) > 1.9 * MIB, { what: 'what one shard replied is counted' });
      await new Promise((resolve) => setTimeout(resolve, 300)); // for those that do not fit
      assert.ok((await held()) <= 2 * MIB);
    } finally {
      late.resume();
    }
    const statuses = await statusesOf(clients);
    assert.ok(statuses.includes(200) && statuses.includes(503), `${statuses}`);
    await leave([]);
    assert.equal(status(await ask().read()), 200);
  });
});

// It looks at the oldest few answers of the address, not of all.
suite('answers that many do not read', { nodes: 1, args: ['--threads=1', '--body-memory-mib=80'] }, ({ test, cluster }) => {
  test('an address over its share gets room from its own, however many of others are older', async () => {
    const { longAnswer, ask, unread, leave } = clientsOf(cluster);
    const [topic, shorter] = [await longAnswer(), await longAnswer(500_000)];
    const others = [], own = [];
    for (let i = 0; i < 66; i++) others.push(await unread(() => ask(shorter, ELSEWHERE)));
    for (let i = 0; i < 41; i++) own.push(await unread(() => ask(topic)));
    await longerThanPatience();
    assert.equal(status(await ask(topic).read()), 200);
    const lengths = await Promise.all(own.map(async ({ read }) => (await read()).length));
    assert.deepEqual(lengths.map((length) => length > LENGTH), [false, ...Array(40).fill(true)], 'its oldest one was closed');
    await leave(others);
  });
});
