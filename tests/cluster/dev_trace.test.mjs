// SPDX-License-Identifier: MIT
//
// `./dev trace`: what happened to a query, from the logs of a cluster that runs in a checkout of its own.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeCheckout } from '../support/checkout.mjs';
import { assertOk, eventually, newTopic, openRequest, sign, withQuery } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

const TIMEOUT = { timeout: 900_000 };
const QUERY = 'How long does a lease last, said the heron?';
const HINT = /PARLEY_LOG_LEVEL=debug \.\/dev up/;

describe('./dev trace', TIMEOUT, () => {
  const checkout = makeCheckout();
  const request = async (node, method, path, query = {}, options = {}) => {
    const proof = sign('User_1', checkout.secret('User_1'));
    return assertOk(await openRequest(checkout.url(node), method, withQuery(path, { ...query, ...proof }), { timeout: 60_000, ...options }).response);
  };
  // Asks on one node, waits for the answer on the other.
  const ask = async (Topic, headers = {}) => {
    const { Seq } = await request('node1', 'POST', '/api/add-query', {}, { body: { Topic, User: 'User_1', Query: QUERY }, headers });
    const row = await request(checkout.running().includes('node2') ? 'node2' : 'node1', 'GET', '/api/check-query', { Topic, Seq, Wait: 30, Detail: true });
    assert.equal(row.Status, 'Done');
    return Seq;
  };
  const trace = async (...args) => checkout.dev('trace', ...args);
  after(() => checkout.remove());

  it('without logs, without a topic and with --help it says what to do', async () => {
    assert.match((await trace('nothing')).stderr, /^dev: there are no logs yet: PARLEY_LOG_LEVEL=debug \.\/dev up/);
    assert.match((await trace()).stderr, /^dev: trace takes a topic/);
    assert.match((await trace('a', 'b')).stderr, /^dev: a Seq is a whole number/);
    const help = await trace('--help');
    assert.equal(help.code, 0);
    assert.match(help.stdout, /^usage: \.\/dev trace TOPIC \[SEQ\]\n/);
    assert.match(help.stdout, HINT);
  });

  describe('of a node that logs at level info', TIMEOUT, () => {
    before(async () => assert.equal((await checkout.dev('up')).code, 0));

    it('what it says is little, and how to get more is said with it', async () => {
      const topic = newTopic();
      await ask(topic);
      const found = await trace(topic);
      assert.equal(found.code, 0, found.stderr);
      assert.match(found.stdout, /^\S+  engine  answered  seq=1 /m);
      assert.match(found.stderr, HINT);
      const nothing = await trace(newTopic());
      assert.equal(nothing.code, 1);
      assert.equal(nothing.stdout, '');
      assert.match(nothing.stderr, HINT);
    });
  });

  for (const format of ['text', 'json'])
    describe(`of two nodes that log at level debug, as ${format}`, TIMEOUT, () => {
      const env = { PARLEY_LOG_LEVEL: 'debug', PARLEY_LOG_FORMAT: format };
      before(async () => {
        const { code, stdout, stderr } = await checkout.dev('cluster', 2, { env });
        assert.equal(code, 0, stderr);
        assert.match(stdout, /^node1 runs with other flags: it is replaced$/m);
        assert.match(stdout, /^started engine: /m);
      });

      it('a query is followed from node to engine and back, in that order', async () => {
        const topic = newTopic(`heron/${format}:`); // with letters that names in keys do not have
        const Seq = await ask(topic, { 'x-request-id': `heron-${format}` });
        const { code, stdout, stderr } = await trace(topic, Seq);
        assert.equal(code, 0, stderr);
        assert.equal(stderr, '');
        const steps = [
          new RegExp(`^\\S+  node1 +POST /api/add-query -> 200 in \\S+ ms for User_1  id=heron-${format}  seq=1$`, 'm'),
          /^\S+  node\d +sending a claim to its engine  lease=\d+  queries=1  attempt=1 /m,
          /^\S+  node\d +GET \/api\/get-new-queries -> 200 .*seq=1  added_by=heron-/m,
          /^\S+  engine +claimed  queries=1  id=heron-/m,
          /^\S+  engine +answered  seq=1 /m,
        ];
        const places = steps.map((step) => stdout.search(step));
        assert.ok(places.every((at) => at >= 0), `${places}\n${stdout}`);
        // A line of a request is written when its answer is: before and after those of others within the same ms.
        assert.ok(places[1] < places[4] && places[3] < places[4], stdout);
        assert.match(stdout, /^\S+  node\d +POST \/api\/give-new-answer -> 200 .*id=heron-\w+  seq=1$/m);
        assert.match(stdout, /^\S+  node2 +GET \/api\/check-query -> 200 .*seq=1  added_by=heron-/m);
        assert.deepEqual(stdout.split('\n').slice(1, -1).map((line) => line.slice(0, 12)), stdout.split('\n').slice(1, -1).map((line) => line.slice(0, 12)).sort());
      });

      it('a waiter on another node gets the outcome', async () => {
        process.kill(checkout.pid('engine'), 'SIGTERM');
        await eventually(() => !checkout.pid('engine'));
        const Topic = newTopic();
        await request('node1', 'POST', '/api/add-query', {}, { body: { Topic, User: 'User_1', Query: QUERY } });
        const check = request('node2', 'GET', '/api/check-query', { Topic, Seq: 1, Wait: 60 });
        await eventually(async () => (await openRequest(checkout.url('node2'), 'GET', '/metrics').response).text.includes('parley_checks_parked 1'));
        assert.equal((await checkout.dev('engine', { env })).code, 0);
        await check;
        const { stdout } = await trace(Topic);
        assert.match(stdout, /^\S+  node2 +outcome received for waiters  seq=1  status=Done$/m);
      });

      it('another query of the topic is left out where a Seq is given', async () => {
        const topic = newTopic();
        await ask(topic);
        await ask(topic);
        assert.match((await trace(topic)).stdout, /seq=1\b[^]*seq=2\b/);
        const one = (await trace(topic, 2)).stdout;
        assert.match(one, /POST \/api\/add-query -> 200 .*seq=2$/m);
        assert.doesNotMatch(one, /seq=1\b/);
      });

      it('no log holds what was asked, nor a secret', async () => {
        for (const name of ['node1', 'node2', 'engine']) {
          const log = checkout.log(name);
          assert.match(log, /debug/);
          assert.doesNotMatch(log, /said the heron/);
          for (const account of ['User_1', 'Inference_1']) assert.ok(!log.includes(checkout.secret(account)), `${name}: ${account}`);
        }
      });
    });
});
