// SPDX-License-Identifier: MIT
//
// Claims that are longer than what a socket takes at once, and engines that read them slowly, or never.
import assert from 'node:assert/strict';
import { eventually, newTopic, suite } from '../support/harness.mjs';
import { connectTo } from '../support/tls.mjs';

const DELIVERY_MS = 1000;
const LONG = 'q'.repeat(250_000);

suite('claims that are read slowly', { nodes: 1, args: ['--delivery-seconds', DELIVERY_MS / 1000] }, ({ test, cluster }) => {
  const ownedBy = (holder) => async () => (await cluster.redis.cmd('KEYS', '*:lease:*')).length === holder;

  // A topic of 1 MB that waits for an engine.
  const long = async () => {
    const { Topic } = await cluster.add({ Topic: newTopic(), Query: LONG });
    for (let i = 0; i < 3; i += 1) await cluster.add({ Topic, Query: LONG });
    return Topic;
  };

  // An engine that polls and reads the beginning of its claim.
  const begin = async () => {
    const socket = connectTo(cluster.nodes[0].url);
    socket.on('error', () => {});
    socket.write(`GET ${cluster.path('/api/get-new-queries', { as: 'Inference_1', query: { Wait: 0, Detail: true } })} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const first = await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    return { socket, first };
  };

  const rest = async ({ socket, first }) => {
    const chunks = [first];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.resume();
    await new Promise((resolve) => socket.on('close', resolve));
    return Buffer.concat(chunks).toString();
  };

  test('an engine that reads for longer than a delivery lease keeps its claim', async () => {
    const Topic = await long();
    const reading = await begin();
    await eventually(ownedBy(1), { what: 'the claim is confirmed while it is being read' });
    await new Promise((resolve) => setTimeout(resolve, 2 * DELIVERY_MS));
    assert.equal((await cluster.claim()).Topic, null);
    const text = await rest(reading);
    const { Lease, ...claim } = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
    assert.equal(claim.Topic, Topic);
    assert.equal(claim.Attempt, 1);
    for (const Seq of [1, 2, 3, 4]) await cluster.answer({ Topic, Lease, Seq, Query: LONG, Answer: ['a'] });
  });

  test('one that leaves before it has read all gives its claim back, confirmed or not', async () => {
    for (const wait of [() => {}, () => eventually(ownedBy(1), { what: 'the claim is confirmed' })]) {
      const Topic = await long();
      const { socket } = await begin();
      await wait();
      socket.destroy();
      let claim;
      await eventually(async () => (claim = await cluster.claim()).Topic === Topic, { what: 'it is Open again' });
      for (const Seq of [1, 2, 3, 4]) await cluster.answer({ Topic, Seq, Query: LONG, Answer: ['a'] });
    }
  });
});
