// SPDX-License-Identifier: MIT
//
// How the engine reaches the nodes: over its socket, by the routes where no WebSocket gets through, and what becomes of answers
// when the socket is lost in the middle.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { gate } from '../support/asking.mjs';
import { withEngines } from '../support/engines.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';

const UPGRADE = /^GET \/ws\/engine[^]*?\r\n\r\n/;

// A proxy in front of a node. `refuses`: it answers the engine's upgrade itself. cut() ends all connections that were upgraded.
async function startProxyOf(node, { refuses = false } = {}) {
  const target = new URL(node.url);
  const upgraded = new Set();
  const all = new Set();
  const seen = { upgrades: 0, polls: 0 };
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      all.add(socket);
      socket.on('error', () => {}).on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      const head = bytes.toString('latin1');
      seen.polls += /^GET \/api\/get-new-queries/.test(head) ? 1 : 0;
      if (!UPGRADE.test(head)) return upstream.write(bytes);
      seen.upgrades += 1;
      if (refuses) return client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      upgraded.add(client);
      return upstream.write(bytes);
    });
    upstream.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    seen,
    cut: () => upgraded.forEach((socket) => socket.destroy()),
    stop: () => {
      all.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}

suite('the engine over its socket', {}, ({ test, cluster }) => {
  const answerOf = async ({ Topic, Seq }) => (await cluster.check({ Topic, Seq, wait: 60, detail: true })).Answer?.join('');
  async function withProxy(node, options, body) {
    const proxy = await startProxyOf(node, options);
    try {
      await body(proxy);
    } finally {
      proxy.stop();
    }
  }
  // Follows an answer as a stream from a node; {text(): what was shown, ended: a promise of it}.
  async function follow({ Topic, Seq }, node) {
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq, Wait: 60 }, node });
    const events = [];
    const ended = (async () => {
      for (let event; (event = await stream.next(60_000)) !== null; ) events.push(event);
    })();
    const shown = () => events.filter(({ event }) => event === 'token').map(({ data }) => data.text).join('');
    return { shown, events, ended };
  }

  test('claims come without polls, and text is shown before it is whole', () =>
    withProxy(cluster.nodes[0], {}, (proxy) =>
      withEngines(cluster, async ({ start, llm, model }) => {
        const { hold, open } = gate();
        llm.behave({ text: 'One two three four five six seven.', pieces: 4, holdAt: 3, hold });
        await start([...model, '--slots', 2], { nodes: [{ url: proxy.url }] });
        const query = await cluster.add();
        const { shown, ended } = await follow(query, 1);
        await eventually(() => shown() === 'One two thre', { what: 'what the model has written is shown' });
        open();
        assert.equal(await answerOf(query), 'One two three four five six seven.');
        await ended;
        assert.equal(shown(), 'One two three four five six seven.');
        for (let i = 0; i < 5; i++) assert.equal(await answerOf(await cluster.add()), 'One two three four five six seven.');
        assert.deepEqual(proxy.seen, { upgrades: 1, polls: 0 });
      })));

  test('where a proxy lets no WebSocket through it uses the routes, and says so once', () =>
    withProxy(cluster.nodes[0], { refuses: true }, (proxy) =>
      withEngines(cluster, async ({ start, llm, model }) => {
        llm.behave({ text: 'By the routes.' });
        const engine = await start([...model, '--slots', 2], { nodes: [{ url: proxy.url }] });
        for (let i = 0; i < 3; i++) assert.equal(await answerOf(await cluster.add()), 'By the routes.');
        assert.equal(proxy.seen.upgrades, 1);
        assert.ok(proxy.seen.polls > 0);
        assert.equal(engine.stderr.match(/no WebSocket to the nodes: using their routes/g).length, 1);
      })));

  test('with --transport routes it opens none, and with --transport socket it waits for one', () =>
    withProxy(cluster.nodes[0], { refuses: true }, (proxy) =>
      withEngines(cluster, async ({ start, llm, model }) => {
        llm.behave({ text: 'Here.' });
        const engine = await start([...model, '--transport', 'socket'], { nodes: [{ url: proxy.url }] });
        await eventually(() => proxy.seen.upgrades > 1, { what: 'it tries again' });
        assert.equal(proxy.seen.polls, 0);
        await engine.stop();
        const before = proxy.seen.upgrades;
        await start([...model, '--transport', 'routes'], { nodes: [{ url: proxy.url }] });
        assert.equal(await answerOf(await cluster.add()), 'Here.');
        assert.equal(proxy.seen.upgrades, before);
      })));

  test('a connection that is cut in the middle of answers loses and doubles nothing', () =>
    withProxy(cluster.nodes[0], {}, (proxy) =>
      withEngines(cluster, async ({ start, llm, model }) => {
        const text = Array.from({ length: 60 }, (_, i) => `wörd${i}`).join(' ');
        llm.behave({ text, pieces: 9, pieceMs: 20 });
        await start([...model, '--slots', 4], { nodes: [{ url: proxy.url }] });
        const queries = await Promise.all(Array.from({ length: 4 }, () => cluster.add()));
        const followers = await Promise.all(queries.map((query, i) => follow(query, i % 2)));
        for (let cuts = 0; cuts < 3; cuts++) {
          const before = followers[0].shown().length;
          await eventually(() => followers[0].shown().length > before, { what: 'text is shown' });
          proxy.cut();
        }
        for (const [i, query] of queries.entries()) {
          assert.equal(await answerOf(query), text);
          await followers[i].ended;
          assert.equal(followers[i].shown(), text);
          assert.equal(followers[i].events.filter(({ event }) => event === 'restart').length, 0);
        }
        assert.ok(proxy.seen.upgrades > 1, 'it came back');
      })));

  test('an engine that ends gives back what it holds, and what was on its way to it', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const { hold, open } = gate();
      llm.behave({ text: 'Late.', hold });
      const engine = await start([...model, '--slots', 2, '--engine-id', 'first']);
      const queries = await Promise.all([cluster.add(), cluster.add(), cluster.add()]);
      await eventually(() => llm.requests.length === 2, { what: 'both slots work' });
      assert.deepEqual(await engine.stop(), { code: 0, signal: null }, engine.stderr);
      open();
      await start([...model, '--engine-id', 'second']);
      for (const query of queries) assert.equal(await answerOf(query), 'Late.');
    }));

  test('a wrong --transport is one line and exit 2', () =>
    withEngines(cluster, async ({ start }) => {
      const engine = await start(['--transport', 'pigeon'], { ready: false });
      const { code } = await engine.exit();
      assert.equal(code, 2);
      assert.match(engine.stderr, /^parley: --transport takes auto, socket or routes, not 'pigeon' \(see parley engine --help\)\n$/);
      engine.stopped = true;
    }));
});

suite('the engine, when its node dies', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  test('goes to the other one, and the answer is whole', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const text = Array.from({ length: 80 }, (_, i) => `word${i}`).join(' ');
      llm.behave({ text, pieces: 9, pieceMs: 20 });
      await start([...model, '--slots', 1, '--transport', 'socket'], { nodes: [cluster.nodes[0], cluster.nodes[1]] });
      const query = await cluster.add({ node: 1 });
      await eventually(() => llm.requests.length === 1, { what: 'the engine works' });
      await cluster.nodes[0].kill();
      const { Answer } = await cluster.check({ ...query, wait: 60, node: 1 });
      assert.equal(Answer.join(''), text);
      assert.equal(await cluster.check({ ...(await cluster.add({ node: 1 })), wait: 60, node: 1 }).then(({ Answer: next }) => next.join('')), text);
    }));
});

suite('engines that stop without a word', { args: ['--lease-seconds', '3', '--rescan-seconds', '1'], sweep: false }, ({ test, cluster }) => {
  const slotsOf = async (id) => assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Engines.find(({ Engine }) => Engine === id)?.Slots;
  for (const transport of ['socket', 'routes']) {
    test(`${transport}: of one that is killed, free slots are gone at once, and its question is answered by another`, () =>
      withEngines(cluster, async ({ start, llm, model }) => {
        const { hold, open } = gate();
        llm.behave({ text: 'Held.', hold });
        const id = `killed-${transport}`;
        const engine = await start([...model, '--slots', 2, '--engine-id', id, '--transport', transport]);
        const query = await cluster.add();
        await eventually(() => llm.requests.length === 1, { what: 'it works' });
        await eventually(async () => JSON.stringify(await slotsOf(id)) === '{"Waiting":1,"Working":1,"Resting":0}', { what: 'operators see both slots' });
        await engine.stop('SIGKILL');
        // Its claim is leased for a while, and it could come back for it.
        await eventually(async () => ((await slotsOf(id))?.Waiting ?? 0) === 0, { ms: 15_000, what: 'its free slot is listed no more' });
        llm.behave({ text: 'By another.' });
        open();
        await start([...model, '--transport', transport]);
        assert.equal((await cluster.check({ ...query, wait: 60 })).Answer.join(''), 'By another.');
      }));

    test(`${transport}: one that is frozen in the middle of an answer loses it, and goes to work again`, () =>
      withEngines(cluster, async ({ start, llm, model }) => {
        const { hold, open } = gate();
        llm.behave({ text: 'It was to be this.', pieces: 4, holdAt: 2, hold });
        const frozen = await start([...model, '--slots', 1, '--transport', transport]);
        const query = await cluster.add();
        const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { ...query, Wait: 60 } });
        await stream.until('token');
        frozen.child.kill('SIGSTOP');
        llm.behave({ text: 'It is that.' });
        const other = await start([...model, '--slots', 1, '--transport', transport]);
        let shown = '';
        for (const { event, data } of await stream.until('done')) shown = event === 'restart' ? '' : event === 'token' ? shown + data.text : shown;
        assert.equal(shown, 'It is that.');
        await other.stop();
        open();
        frozen.child.kill('SIGCONT');
        llm.behave({ text: 'Awake.' });
        assert.equal((await cluster.check({ ...(await cluster.add()), wait: 60 })).Answer.join(''), 'Awake.');
      }));
  }
});
