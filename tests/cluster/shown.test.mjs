// SPDX-License-Identifier: MIT
//
// Pieces that are shown before they are stored (ADR 94): which nodes get them, and what happens when the connection over which
// they are sent dies, or may not turn off Redis's replies.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { openEngine } from '../support/engine_socket.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { connections } from './watch.mjs';

// What clients publish, without scripts, as lines of MONITOR.
async function openMonitor(redis) {
  const socket = net.connect(redis.port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => (text += bytes));
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  const published = () => text.split('\n').filter((line) => /^\+\S+ \[\d+ (?!lua)\S+\] "S?PUBLISH"/.test(line));
  return { published: (part) => published().filter((line) => line.includes(part)), close: () => socket.destroy() };
}

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
    const channels = new Set(monitor.published('piece ').map((line) => line.split('"')[3]));
    assert.equal(channels.size, 1, [...channels].join(' '));
    await answer.end();
    for (const viewer of viewers) await viewer.end();
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
