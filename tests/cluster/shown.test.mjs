// SPDX-License-Identifier: MIT
//
// Pieces that are shown before they are stored (ADR 94): which nodes get them, and what happens when the connection over which
// they are sent dies, or may not turn off Redis's replies.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { openEngine } from '../support/engine_socket.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { calls, connections } from './watch.mjs';

// What clients publish, without scripts, as lines of MONITOR; all(): scripts, too.
async function openMonitor(redis) {
  const socket = net.connect(redis.port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => (text += bytes));
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  const published = () => text.split('\n').filter((line) => /^\+\S+ \[\d+ (?!lua)\S+\] "S?PUBLISH"/.test(line));
  const all = (part) => text.split('\n').filter((line) => /"S?PUBLISH"/i.test(line) && line.includes(part));
  return { published: (part) => published().filter((line) => line.includes(part)), all, close: () => socket.destroy() };
}

const channelOf = (line) => /"S?PUBLISH" "([^"]*)"/i.exec(line)[1];

suite('pieces that are shown first', { nodes: 3, servers: 1 }, ({ test, cluster }) => {
  // An answer under way, and a function that sends more of it.
  async function begin() {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    let text = '';
    const say = (Answer) => {
      engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset: text.length, Answer });
      text += Answer;
    };
    const end = async () => {
      await engine.answer({ Topic, Lease, Queries }, [text]);
      await engine.close();
    };
    return { Topic, say, end, text: () => text };
  }

  async function beginByRoutes() {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ wait: 30, detail: true, node: 0 });
    let text = '';
    const say = async (Answer) => {
      assertOk(await cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { Topic, Seq: 1, Lease, Offset: text.length, Answer }, node: 0 }));
      text += Answer;
    };
    return { Topic, say, end: () => cluster.answer({ Topic, Seq: 1, Lease, Answer: [text] }), text: () => text };
  }

  // A viewer, and a function that waits until it has seen so much.
  async function watch(Topic, node) {
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node });
    let text = '';
    const note = ({ event, id, data }) => {
      assert.ok(!['reset', 'restart', 'error'].includes(event), event);
      if (event !== 'token') return;
      text += data.text;
      assert.equal(id, `1-${text.length}`);
    };
    const until = async (all) => {
      while (text.length < all.length) note(await stream.next());
      assert.equal(text, all);
    };
    return { until, end: async () => assert.deepEqual((await stream.until('done')).at(-1).data.Answer, [text]) };
  }

  const kill = async () => {
    const shown = await connections(cluster.redis, 'parley-shown');
    for (const { id } of shown) await cluster.redis.cmd('CLIENT', 'KILL', 'ID', id);
    return shown.length;
  };

  test('a node gets them once, however many watch there, and one where nobody does gets none', async () => {
    const monitor = await openMonitor(cluster.redis);
    const answer = await begin();
    const viewers = [];
    for (let i = 0; i < 20; i++) viewers.push(await watch(answer.Topic, 1));
    answer.say('first, ');
    for (const viewer of viewers) await viewer.until('first, ');
    const pieces = Array.from({ length: 10 }, (_, i) => `piece ${i}. `);
    for (const piece of pieces) {
      answer.say(piece);
      for (const viewer of viewers) await viewer.until(answer.text());
    }
    await eventually(() => monitor.published(pieces.at(-1)).length > 0, { what: 'Redis has reported the last message' });
    // A viewer who has read once more, because a message overtook its reply, is sent what is not stored yet: not each time.
    assert.ok(pieces.some((piece) => monitor.published(piece).length === 1));
    const channels = new Set(monitor.published('piece ').map(channelOf));
    assert.equal(channels.size, 1, [...channels].join(' '));
    await answer.end();
    for (const viewer of viewers) await viewer.end();
    monitor.close();
  });

  // By Redis's own count of commands. One engine at its socket, one by the routes.
  for (const how of ['socket', 'routes']) {
    test(`a hundred viewers of one answer on one node cost one message for each piece: ${how}`, async () => {
      const monitor = await openMonitor(cluster.redis);
      const answer = await (how === 'socket' ? begin() : beginByRoutes());
      const viewers = await Promise.all(Array.from({ length: 100 }, () => watch(answer.Topic, 1)));
      await answer.say('first, ');
      for (const viewer of viewers) await viewer.until('first, ');
      const counted = async () => (await Promise.all(['publish', 'spublish', 'fcall'].map((name) => calls(cluster.redis, name)))).reduce((sum, n) => sum + n, 0);
      const before = await counted();
      const pieces = Array.from({ length: 10 }, (_, i) => `piece ${i}. `);
      for (const piece of pieces) {
        await answer.say(piece);
        for (const viewer of viewers) await viewer.until(answer.text());
      }
      const cost = (await counted()) - before;
      assert.ok(cost < 100, `${cost} commands for ${pieces.length} pieces and 100 viewers`);
      await eventually(() => monitor.all(pieces.at(-1)).length > 0, { what: 'Redis has reported the last message' });
      for (const piece of pieces) assert.equal(monitor.all(piece).length, 1, piece);
      assert.equal(new Set(monitor.all('piece ').map(channelOf)).size, 1);
      await answer.end();
      for (const viewer of viewers) await viewer.end();
      monitor.close();
    });
  }

  test('a node where nobody watches gets no message, and without a viewer there is none', async () => {
    const monitor = await openMonitor(cluster.redis);
    const alone = await begin();
    for (let i = 0; i < 10; i++) alone.say(`unseen ${i}. `);
    await alone.end();
    assert.deepEqual(monitor.all('unseen '), []);
    const channels = [];
    for (const node of [0, 1, 2]) {
      const answer = await begin();
      const viewer = await watch(answer.Topic, node);
      for (let i = 0; i < 5; i++) {
        answer.say(`to ${node}: ${i}. `);
        await viewer.until(answer.text());
      }
      await answer.end();
      await viewer.end();
      channels[node] = new Set(monitor.all(`to ${node}: 4`).map(channelOf));
    }
    // The first piece is stored with its message. After that node 0, which has the engine's socket, sends itself none.
    assert.deepEqual([...channels[0]], []);
    assert.deepEqual([channels[1].size, channels[2].size], [1, 1]);
    assert.notDeepEqual(channels[1], channels[2]);
    monitor.close();
  });

  test('nothing is lost and nothing doubled while their connection dies again and again', async () => {
    const answer = await begin();
    const viewers = [await watch(answer.Topic, 0), await watch(answer.Topic, 1), await watch(answer.Topic, 2)];
    let killed = 0;
    answer.say('0. ');
    for (const viewer of viewers) await viewer.until('0. ');
    for (let i = 1; i < 200; i++) {
      answer.say(`${i}. `);
      if (i % 20 === 7) killed += await kill();
      // Also without a piece that follows and shows that one is missing.
      if (i % 20 === 8) for (const viewer of viewers) await viewer.until(answer.text());
    }
    assert.ok(killed > 0, 'it has a connection of that name');
    await answer.end();
    for (const viewer of viewers) {
      await viewer.until(answer.text());
      await viewer.end();
    }
  });

  test('a user of Redis who may not turn off replies is shown pieces, too', async () => {
    await cluster.redis.cmd('ACL', 'SETUSER', 'default', '-client|reply');
    await kill();
    const monitor = await openMonitor(cluster.redis);
    const answer = await begin();
    const viewer = await watch(answer.Topic, 1);
    answer.say('first, ');
    await viewer.until('first, ');
    await eventually(
      async () => {
        answer.say('more, ');
        await viewer.until(answer.text());
        return monitor.published('more, ').length > 2;
      },
      { what: 'pieces are published' },
    );
    await answer.end();
    await viewer.end();
    monitor.close();
    await cluster.redis.cmd('ACL', 'SETUSER', 'default', '+client|reply');
  });
});
