// SPDX-License-Identifier: MIT
//
// Signed GETs that are held, and repeated with their nonces by a proxy or a browser: because their node was killed, or their
// connection was lost. One copy is served, and whatever was answered stays answered.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertOk, assertProblem, Cluster, eventually, freePort, newNonce, newTopic, openRequest, suite } from '../support/harness.mjs';
import { findNginx, nodesOfConfig, startNginx } from '../support/nginx.mjs';
import { onAll } from '../support/shards.mjs';
import { byToken, metric, stop, topicWithCredit, verbCalls, waiting } from './watch.mjs';

const POLL = '/api/get-new-queries';
const LOOKUP = '/api/get-new-lookup';
const CHECK = '/api/check-query';
const { program, reason } = findNginx();
const marksOf = async (cluster, kind) => (await onAll(cluster.redis, 'KEYS', `${kind}:*`)).flat().length;

// What is held, how it is seen on its node, and how it gets its answer.
const KINDS = {
  'a poll for queries': {
    path: (cluster, nonce) => cluster.path(POLL, { as: 'Inference_1', query: { Wait: 60, Detail: 'true' }, signing: { nonce } }),
    counter: 'parley_polls_parked',
    async finish(cluster, node, response) {
      const { Topic } = await cluster.add({ node });
      const claim = assertOk(await response);
      assert.equal(claim.Topic, Topic);
      assert.equal(claim.Attempt, 1);
      await cluster.answer({ Topic, Seq: 1, Lease: claim.Lease });
    },
  },
  'a poll of an engine with a name': {
    path: (cluster, nonce) => cluster.path(POLL, { as: 'Inference_1', query: { Wait: 60, Detail: 'true', Engine: 'box' }, signing: { nonce } }),
    counter: 'parley_polls_parked',
    finish: (...all) => KINDS['a poll for queries'].finish(...all),
  },
  'a poll for lookups': {
    path: (cluster, nonce) => cluster.path(LOOKUP, { as: 'Inference_1', query: { Wait: 60 }, signing: { nonce } }),
    counter: 'parley_polls_parked',
    async finish(cluster, node, response) {
      const { Topic, Seq } = await cluster.add({ node });
      await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq, Fragment: newTopic() }, node });
      const { Fingerprint } = assertOk(await response);
      assertOk(await cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body: { Fingerprint, Matches: [] } }));
    },
  },
  'a check of a query': {
    async prepare(cluster) {
      this.Topic = (await cluster.add({})).Topic;
    },
    path(cluster, nonce) {
      return cluster.path(CHECK, { as: 'Frontend_1', query: { Topic: this.Topic, Seq: 1, Wait: 60 }, signing: { nonce } });
    },
    counter: 'parley_checks_parked',
    async finish(cluster, node, response) {
      let claim;
      await eventually(async () => (claim = await cluster.claim({ wait: 0, detail: true })).Topic === this.Topic, { what: 'it is claimed' });
      await cluster.answer({ Topic: this.Topic, Seq: 1, Lease: claim.Lease, node });
      assert.deepEqual(assertOk(await response).Answer, ['42']);
    },
  },
};

suite('a signed GET that is held', { nodes: 2 }, ({ test, cluster }) => {
  const send = (node, path) => openRequest(cluster.pick(node).url, 'GET', path, { timeout: 90_000 });
  const refused = async (node, path) => assertProblem(await send(node, path).response, 401, 'nonce_used');
  // One is held there, and Redis knows.
  const isHeld = (kind, node) =>
    eventually(async () => (await metric(cluster, node, kind.counter)) > 0 && (await marksOf(cluster, 'held')) > 0, { what: 'it is held' });
  async function held(kind, node, path) {
    const one = send(node, path);
    await isHeld(kind, node);
    return one;
  }
  async function forget(node) {
    await node.kill();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
  }

  for (const [name, kind] of Object.entries(KINDS)) {
    test(`${name}: its node is killed, and one copy of it is served on another`, async () => {
      await kind.prepare?.(cluster);
      const dying = await cluster.startNode();
      const path = kind.path(cluster, newNonce());
      const lost = assert.rejects((await held(kind, dying, path)).response);
      await forget(dying);
      await lost;
      const other = path.replace('Wait=60', 'Wait=59');
      await refused(0, other); // the nonce is used up for all else
      const copy = await held(kind, 1, path);
      await Promise.all([refused(0, path), refused(1, path)]);
      await kind.finish(cluster, 0, copy.response);
      for (const node of [0, 1]) await refused(node, path);
    });

    test(`${name}: its connection is lost, and one copy of it is served`, async () => {
      for (const [how, node] of [['reset', 0], ['abort', 1]]) {
        await kind.prepare?.(cluster);
        const path = kind.path(cluster, newNonce());
        const socket = await cluster.socket({ node: 0 });
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
        await isHeld(kind, 0);
        socket[how]();
        const copy = await held(kind, node, path);
        await kind.finish(cluster, 1, copy.response);
        for (const other of [0, 1]) await refused(other, path);
      }
    });

    test(`${name}: a copy of one that is held is refused on every node, and the first gets its answer`, async () => {
      await kind.prepare?.(cluster);
      const path = kind.path(cluster, newNonce());
      const first = await held(kind, 0, path);
      await Promise.all([refused(0, path), refused(1, path)]);
      await kind.finish(cluster, 1, first.response);
      await Promise.all([refused(0, path), refused(1, path)]);
    });
  }

  test('what is answered at once, or comes with a token, is not reported', async () => {
    const calls = () => verbCalls(cluster, 0, 'nonces_held');
    const before = await calls();
    const { Topic } = await cluster.add();
    await cluster.claim({ node: 0 });
    await cluster.check({ Topic, node: 0 });
    const token = await byToken(cluster, 'Frontend_1');
    const waits = cluster.checkOpen({ Topic, wait: 60, node: 0, ...token });
    await waiting(cluster, 0, 1);
    await cluster.answer({ Topic, Seq: 1, node: 0 });
    assertOk(await waits.response);
    assert.equal(await calls(), before);
  });

  test('a poll that dies with a claim on its way to it: the copy gets that question', async () => {
    const kind = KINDS['a poll for queries'];
    const dying = await cluster.startNode();
    const path = kind.path(cluster, newNonce());
    const lost = assert.rejects((await held(kind, dying, path)).response);
    const Topic = await topicWithCredit(cluster);
    await stop(dying);
    await cluster.add({ Topic, node: 0 });
    assert.equal((await cluster.check({ Topic, detail: true, node: 0 })).Status, 'Pending');
    await forget(dying);
    await lost;
    const claim = assertOk(await send(0, path).response);
    assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
    await cluster.answer({ Topic, Seq: 1, Lease: claim.Lease });
    await refused(1, path);
  });

  test('an answered poll stays answered when its node is killed', async () => {
    const kind = KINDS['a poll for queries'];
    const dying = await cluster.startNode();
    const path = kind.path(cluster, newNonce());
    const first = await held(kind, dying, path);
    await kind.finish(cluster, 0, first.response);
    await eventually(async () => (await marksOf(cluster, 'held')) === 0, { what: 'nothing is held' });
    await forget(dying);
    await refused(0, path);
  });

  test('two nodes die one after the other: each loss admits one copy', async () => {
    const kind = KINDS['a check of a query'];
    await kind.prepare(cluster);
    const path = kind.path(cluster, newNonce());
    for (let i = 0; i < 2; i++) {
      const dying = await cluster.startNode();
      const lost = assert.rejects((await held(kind, dying, path)).response);
      await forget(dying);
      await lost;
    }
    const copies = [0, 1, 0, 1].map((node) => send(node, path));
    const codes = [];
    for (const { response } of copies) response.then(({ status }) => codes.push(status), () => {});
    await eventually(() => codes.length === 3, { what: 'all but one are refused' });
    assert.deepEqual(codes, [401, 401, 401]);
    await kind.finish(cluster, 0, Promise.any(copies.map(async ({ response }) => {
      const answer = await response;
      if (answer.status !== 200) throw new Error(answer.text);
      return answer;
    })));
  });
});

describe('nginx before nodes of which one is killed', { skip: reason }, () => {
  for (const [name, kind] of Object.entries(KINDS)) {
    it(`${name} gets its answer from another node, and its client notices nothing`, { timeout: 180_000 }, async () => {
      const cluster = new Cluster({ nodes: 0, args: ['--indexers', 0] });
      let nginx;
      try {
        await cluster.start();
        const ports = await Promise.all(Array.from({ length: nodesOfConfig() }, freePort));
        for (const port of ports) await cluster.startNode({ listen: `127.0.0.1:${port}` });
        nginx = await startNginx(ports, { program });
        await kind.prepare?.(cluster);
        const { response } = openRequest(nginx.url, 'GET', kind.path(cluster, newNonce()), { timeout: 90_000 });
        const holder = () =>
          eventually(
            async () => {
              if ((await marksOf(cluster, 'held')) === 0) return undefined;
              for (const node of cluster.nodes) if ((await metric(cluster, node, kind.counter)) === 1) return node;
              return undefined;
            },
            { what: 'a node holds it' },
          );
        const dying = await holder();
        await dying.kill();
        cluster.nodes.splice(cluster.nodes.indexOf(dying), 1);
        await holder();
        await kind.finish(cluster, 0, response);
        assert.equal(nginx.requests().filter(({ upstreams }) => upstreams.length === 2).length, 1);
      } catch (error) {
        cluster.printLogs(new Map());
        throw error;
      } finally {
        await nginx?.stop();
        await cluster.stop();
      }
    });
  }
});
