// SPDX-License-Identifier: MIT
//
// A busy or unreachable model server makes its engine rest and uses up no attempt. Each question may be
// claimed only once here, so a counted attempt shows as Failed.
import assert from 'node:assert/strict';
import { createServer, request as send } from 'node:http';
import { gate } from '../support/asking.mjs';
import { withEngines } from '../support/engines.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { startLlm } from '../support/llm_stub.mjs';
import { keyOf, topicOn } from '../support/shards.mjs';

const ONCE = ['--max-attempts', '1', '--lease-seconds', '6', '--rescan-seconds', '1'];

// Sits between an engine and a node; `answer(path, response)` may keep a request to itself by returning true.
async function startForwarder(target, answer) {
  const server = createServer(async (request, response) => {
    if (await answer(new URL(request.url, target).pathname, response)) return;
    const { method, headers } = request;
    const forwarded = send(new URL(request.url, target), { method, headers, agent: false }, (reply) => {
      response.writeHead(reply.statusCode, reply.headers);
      reply.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

suite('an engine whose model is busy or away', { args: ONCE }, ({ test, cluster }) => {
  const chats = (llm) => llm.requests.filter(({ path }) => path === '/v1/chat/completions');
  const done = async (Topic, text) => {
    const row = await cluster.check({ Topic, wait: 100, detail: true });
    assert.deepEqual([row.Status, row.Answer], ['Done', [text]], JSON.stringify(row));
  };
  const engines = async () => assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Engines;
  const resting = () => eventually(async () => (await engines()).find(({ RestingUntil }) => RestingUntil !== null), { what: 'an engine rests' });
  const secondsLeft = ({ RestingUntil }) => (Date.parse(RestingUntil) - Date.now()) / 1000;

  test('a short rest keeps the claim past its lease, and the question is answered in its only attempt', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'After the rest.', status: 429, retryAfter: 4, times: 2 });
      await start([...model, '--slots', 1]);
      const { Topic } = await cluster.add();
      assert.ok(secondsLeft(await resting()) <= 6, 'operators see it');
      await done(Topic, 'After the rest.');
      assert.equal(chats(llm).length, 3);
    }));

  test('the time to rest may be a date', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'Later.', status: 503, retryAfter: new Date(Date.now() + 3000).toUTCString(), times: 1 });
      await start(model);
      const { Topic } = await cluster.add();
      await done(Topic, 'Later.');
      assert.equal(chats(llm).length, 2);
    }));

  test('for a long rest the claim is given back, its engine takes nothing, and another one has it', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ status: 429, retryAfter: 100 });
      await start([...model, '--slots', 2]);
      const { Topic } = await cluster.add();
      const engine = await resting();
      assert.match(engine.RestingUntil, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.match(engine.Info.Reason, /429/);
      assert.ok(secondsLeft(engine) > 60 && secondsLeft(engine) < 105, engine.RestingUntil);
      await eventually(async () => (await engines()).some(({ Slots }) => Slots.Resting === 2), { what: 'both slots rest' });
      const claim = await cluster.claim({ as: 'Inference_2', wait: 20, detail: true });
      assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease, Answer: ['From another.'] });
      await done(Topic, 'From another.');
      const other = await cluster.add();
      assert.equal((await cluster.claim({ as: 'Inference_2', wait: 20 })).Topic, other.Topic);
      assert.equal(chats(llm).length, 1);
    }));

  test('absurd times to rest are bounded', async () => {
    for (const [retryAfter, most] of [['315360000', 610], ['99999999999999999999999', 40], [new Date(Date.now() + 3e11).toUTCString(), 610], ['-5', 40], ['soon', 40]]) {
      await withEngines(cluster, async ({ start, llm, model }) => {
        llm.behave({ status: 429, retryAfter, text: 'Now.' });
        await start([...model, '--slots', 1]);
        const { Topic } = await cluster.add();
        await eventually(() => chats(llm).length > 0);
        if (most > 100) assert.ok(secondsLeft(await resting()) <= most, retryAfter);
        const claim = most > 100 ? await cluster.claim({ as: 'Inference_2', wait: 20 }) : undefined;
        if (claim) assert.equal(claim.Topic, Topic);
        llm.behave({ text: 'Now.' });
        if (!claim) await done(Topic, 'Now.');
      });
    }
  });

  test('a model server that fails or refuses connections for a while costs no attempt', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ status: 500, times: 3, text: 'Up again.' });
      await start([...model, '--slots', 3]);
      const topics = [await cluster.add(), await cluster.add(), await cluster.add()];
      for (const { Topic } of topics) await done(Topic, 'Up again.');
      const port = Number(new URL(llm.url).port);
      await llm.stop();
      const { Topic } = await cluster.add();
      await resting();
      const back = await startLlm({ port });
      back.behave({ text: 'A new server.' });
      await done(Topic, 'A new server.');
      llm.stop = () => back.stop();
    }));

  test('an engine that stops gives its claims back without an attempt', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const { hold, open } = gate();
      llm.behave({ hold });
      const engine = await start([...model, '--slots', 1]);
      const { Topic } = await cluster.add();
      await eventually(() => chats(llm).length === 1);
      const claimed = cluster.claim({ as: 'Inference_2', wait: 30, detail: true });
      await engine.stop();
      const claim = await claimed;
      assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
      open();
    }));

  test('an engine that stops while a claim waits to be given back gives it back once', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ stream: 'break', text: 'Half of this is not enough.' });
      let releases = 0;
      const { url, close } = await startForwarder(cluster.nodes[0].url, async (path, response) => {
        if (path !== '/api/release-claim') return false;
        releases += 1;
        if (releases === 1) {
          response.writeHead(503, { 'Retry-After': '1' }).end();
          void engine.stop();
          return true;
        }
        await new Promise((resolve) => setTimeout(resolve, 3000)); /* the pause of the first try is over by then */
        return false;
      });
      const engine = await start([...model, '--slots', 1], { nodes: [{ url }] });
      await cluster.add();
      assert.deepEqual(await engine.exit(), { code: 0, signal: null }, engine.stderr);
      assert.equal(releases, 2);
      await close();
    }));

  test('an answer that breaks off is an attempt', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ stream: 'break', text: 'Half of this is not enough.' });
      await start(model);
      const { Topic } = await cluster.add();
      assert.equal((await cluster.check({ Topic, wait: 60, detail: true })).Status, 'Failed');
    }));

  test('a question that the engine cannot read fails, and those after it are answered', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'Readable.' });
      const bad = await cluster.add({ Topic: topicOn(0), Query: 'Can you read ",\\"Lease\\":\\"7\\"?' });
      const good = await cluster.add({ Topic: topicOn(0) }); // after the other one
      const key = keyOf(bad.Topic, `t:${bad.Topic}`);
      const row = (await cluster.redis.cmd('HGET', key, 'q:1')).split('\n');
      row[4] = '{"Lease":"9","temperature":1e99999}';
      await cluster.redis.cmd('HSET', key, 'q:1', row.join('\n'));
      const engine = await start([...model, '--slots', 1]);
      const failed = await cluster.check({ Topic: bad.Topic, wait: 60, detail: true });
      assert.equal(failed.Status, 'Failed');
      assert.match(failed.Reason, /cannot read the question/);
      await done(good.Topic, 'Readable.');
      assert.doesNotMatch(engine.stderr, /node unavailable/);
    }));
});
