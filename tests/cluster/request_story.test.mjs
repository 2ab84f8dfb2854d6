// SPDX-License-Identifier: MIT
//
// A request's story: its id (X-Request-Id) travels in the row of its query to the engine and the model server, so that
// `grep ID` over all logs finds what happened to it; traceparent takes the same way.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { uploadIndexed } from '../support/documents.mjs';
import { withEngines } from '../support/engines.mjs';

const newId = () => `story-${randomBytes(6).toString('hex')}`;
const newTrace = () => randomBytes(16).toString('hex');
const parentOf = (trace) => `00-${trace}-${randomBytes(8).toString('hex')}-01`;
const linesWith = (text, word) => text.split('\n').filter((line) => line.includes(word));
const logs = (cluster) => cluster.nodes.map((node) => node.log()).join('');

// A request's line is written with its answer, which a client may read before the log is.
const seen = (cluster, ...patterns) =>
  eventually(() => cluster.nodes.flatMap((node) => node.log().split('\n')).find((line) => patterns.every((pattern) => pattern.test(line))), {
    what: `a line of a node with ${patterns.join(' and ')}`,
  });

for (const format of ['text', 'json']) {
  const field = (name, value) => new RegExp(format === 'json' ? `"${name}":${JSON.stringify(value)}[,}]` : `\\b${name}=${JSON.stringify(value)}( |$)`);

  suite(`requests that are logged as ${format}`, { args: ['--log-requests', 'on', '--log-format', format], sweep: false }, ({ test, cluster }) => {
    test('one id finds a question in the log of its node, of its engine and of the node that got the answer, and at the model server', async () => {
      const id = newId();
      const trace = newTrace();
      const headers = { 'x-request-id': id, traceparent: parentOf(trace) };
      await withEngines(cluster, async ({ start, llm, model }) => {
        const engine = await start([...model, '--log-level', 'debug', '--log-format', format]);
        const Topic = newTopic();
        const added = await cluster.addRaw({ Topic, headers, node: 0 });
        assert.equal(added.headers['x-request-id'], id);
        assert.equal((await cluster.check({ Topic, wait: 60, detail: true, node: 1 })).Status, 'Done');
        await seen(cluster, field('id', id), field('route', '/api/add-query'), field('status', 200), field('account', 'Frontend_1'), field('trace', trace), field('seq', 1));
        await seen(cluster, field('id', id), field('route', '/api/give-new-answer'), field('account', 'Inference_1'));
        await seen(cluster, field('added_by', id), field('route', '/api/get-new-queries'));
        await seen(cluster, field('added_by', id), field('route', '/api/check-query'));
        for (const event of ['claimed', 'answered']) await eventually(() => linesWith(engine.stderr, id).some((line) => line.includes(event)), { what: `${id} was ${event}` });
        for (const line of linesWith(engine.stderr, id)) assert.match(line, field('id', id));
        assert.equal(llm.requests.length, 1);
        assert.equal(llm.requests[0].headers['x-request-id'], id);
        assert.equal(llm.requests[0].headers.traceparent, headers.traceparent);
      });
    });

    test('an id that nobody sent is made by the node, and is found at the engine all the same', async () => {
      await withEngines(cluster, async ({ start }) => {
        const engine = await start(['--log-format', format]);
        const Topic = newTopic();
        for (const [seq, sent] of [undefined, 'with space', 'x'.repeat(129), '"'].entries()) {
          const added = await cluster.addRaw({ Topic, headers: sent === undefined ? {} : { 'x-request-id': sent }, node: 0 });
          const id = added.headers['x-request-id'];
          assert.match(id, /^n[0-9a-f]+-[0-9a-f]+$/);
          await cluster.check({ Topic, Seq: seq + 1, wait: 60 });
          await eventually(() => linesWith(engine.stderr, 'answered').some((line) => field('id', id).test(line)), { what: `${id} at the engine` });
        }
      });
    });

    test('a question to documents carries the id of its request, too', async () => {
      const id = newId();
      await withEngines(cluster, async ({ start }) => {
        const engine = await start();
        await uploadIndexed(cluster, { name: 'leases.txt', bytes: 'A lease lasts 150 seconds. It is renewed by heartbeats.' });
        const asked = cluster.request('POST', '/api/rag/ask', { as: 'User_1', body: { question: 'How long does a lease last?' }, headers: { 'x-request-id': id } });
        assertOk(await asked);
        await eventually(() => linesWith(engine.stderr, id).length > 0, { what: `${id} at the engine` });
      });
    });

    test('requests that are refused have their line, and no line has a secret, a signature or a text', async () => {
      const id = newId();
      const refused = await cluster.request('GET', '/api/check-query', { as: 'Frontend_1', signing: { secret: 'wrong-secret' }, query: { Topic: 'nothing', Seq: 1 }, headers: { 'x-request-id': id } });
      assert.equal(refused.status, 401);
      await seen(cluster, field('id', id), field('status', 401));
      const unknown = newId();
      await cluster.request('GET', '/nowhere/secret-path', { headers: { 'x-request-id': unknown } });
      await seen(cluster, field('id', unknown), field('status', 404), field('route', 'none'));
      await cluster.add({ Query: 'A text that no log may show' });
      const text = logs(cluster);
      for (const word of ['Nonce', 'Hash', 'wrong-secret', 'secret-path', 'A text that', cluster.accounts.Frontend_1.secret]) assert.ok(!text.includes(word), word);
    });

    test('each request has one line', async () => {
      const id = newId();
      await cluster.request('GET', '/livez', { headers: { 'x-request-id': id }, node: 0 });
      await cluster.request('GET', '/livez', { headers: { 'x-request-id': `${id}-2` }, node: 0 });
      await seen(cluster, field('id', `${id}-2`));
      const lines = linesWith(cluster.nodes[0].log(), id);
      assert.equal(lines.length, 2);
      if (format === 'json') {
        const line = JSON.parse(lines[0]);
        assert.deepEqual(Object.keys(line), ['time', 'level', 'message', 'id', 'method', 'route', 'status', 'account', 'us']);
        assert.equal(line.message, 'request');
        assert.equal(line.level, 'info');
      }
    });
  });
}

suite('requests that are not logged', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  test('the id travels to the engine without --log-requests', async () => {
    const id = newId();
    await withEngines(cluster, async ({ start }) => {
      const engine = await start();
      const Topic = newTopic();
      await cluster.addRaw({ Topic, headers: { 'x-request-id': id } });
      await cluster.check({ Topic, wait: 60 });
      await eventually(() => linesWith(engine.stderr, 'answered').some((line) => line.includes(id)), { what: 'the id at the engine' });
      assert.equal(linesWith(logs(cluster), id).length, 0);
    });
  });

  test('a claim has the id as a member of its details, and engines that ask for none get none', async () => {
    const id = newId();
    await cluster.addRaw({ headers: { 'x-request-id': id } });
    const claim = await cluster.claim({ detail: true });
    assert.equal(claim.Details['1'].RequestId, id);
    assert.equal(claim.Details['1'].Traceparent, null);
    const trace = newTrace();
    await cluster.addRaw({ headers: { 'x-request-id': id, traceparent: parentOf(trace) } });
    assert.deepEqual(Object.keys(await cluster.claim()).sort(), ['Queries', 'Topic']);
  });

  test('the data of a user who is deleted takes the id with it', async () => {
    const id = newId();
    const [Topic, User] = [newTopic(), newTopic('leaver')];
    assertOk(await cluster.addRaw({ Topic, User, headers: { 'x-request-id': id } }));
    await cluster.addRaw({ Topic, User: 'stays' });
    await eventually(async () => (await cluster.request('DELETE', `/api/users/${User}`, { as: 'Frontend_1', query: { OnBehalfOf: User } })).json.Done, { what: 'it is deleted' });
    const dump = (await cluster.redis.cmd('KEYS', '*')).filter((key) => key.includes(Topic));
    const fields = await Promise.all(dump.filter((key) => key.includes(':t:')).map((key) => cluster.redis.cmd('HGETALL', key)));
    assert.ok(fields.length > 0);
    assert.ok(!JSON.stringify(fields).includes(id));
  });
});
