// SPDX-License-Identifier: MIT
//
// `parley engine` and --check-config fail at the start with one line that names the flag
// to change.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { ACCOUNTS, makeFolder, runParley, suite } from '../support/harness.mjs';
import { startLlm } from '../support/llm_stub.mjs';
import { withEngines } from '../support/engines.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // settings of a client: the same on any number of shards

// A server that is neither a node nor a model server: scripted answers, counted.
async function startServer(answer, port = 0) {
  const server = http.createServer((request, response) => answer(request, response));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async stop() {
      server.closeAllConnections?.();
      server.close();
      await once(server, 'close');
    },
  };
}

// An address where nobody listens.
async function deadUrl() {
  const server = await startServer(() => {});
  await server.stop();
  return server.url;
}

suite('the start of an engine', { nodes: 1 }, ({ test, cluster }) => {
  // Runs it both ways; each ends with exit 1 and that line alone.
  async function refused(args, expected, { as = 'Inference_1', secret = ACCOUNTS[as].secret, url = cluster.nodes[0].url } = {}) {
    const folder = makeFolder();
    const base = ['engine', '--url', url, '--user', as, '--secret-file', folder.file('secret', secret), '--start-seconds', 0];
    for (const more of [[], ['--check-config']]) {
      const { code, stdout, stderr } = await runParley([...base, ...args, ...more]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.equal(stdout, '');
      assert.ok(!stderr.includes(secret), 'no secret in what it prints');
    }
    folder.remove();
  }

  async function withLlm(how, body) {
    const llm = await startLlm();
    llm.behave(how);
    await body(['--llm', llm.url, '--model', 'stub'], llm);
    await llm.stop();
  }

  test('a wrong secret, an unknown account, and an account of another role', async () => {
    await refused([], /^parley: --secret-file \S+: http:\S+ refused the signature of --user Inference_1/, { secret: 'wrong' });
    await refused([], /^parley: --user Frontend_1: the account has the role frontend/, { as: 'Frontend_1' });
  });

  test('a node that is not there, or is none', async () => {
    const dead = await deadUrl();
    await refused([], /^parley: --url http:\S+: no node responds/, { url: dead });
    await refused([], /^parley: --url http:\S+ and the others: no node responds/, { url: `${dead},${dead}` });
    await withLlm({}, (_, llm) => refused([], /^parley: --url http:\S+: not a Parley node/, { url: llm.url.replace('/v1', '') }));
    const page = await startServer((_, response) => response.end('<html>Welcome</html>'));
    await refused([], /^parley: --url http:\S+: not a Parley node/, { url: page.url });
    await page.stop();
  });

  test('one of several nodes that refuses the account, though another takes it', async () => {
    const strict = await startServer((_, response) => {
      response.writeHead(401, { 'content-type': 'application/problem+json' });
      response.end('{"detail":"no"}');
    });
    await refused([], /^parley: --secret-file /, { url: `${cluster.nodes[0].url},${strict.url}` });
    await strict.stop();
  });

  test('a model that the server does not have', () =>
    withLlm({ models: ['alpha', 'beta:latest'] }, async (model, llm) => {
      await refused(model, /^parley: --model stub: http:\S+ has no model with that name: it has alpha, beta:latest/);
      await refused(['--llm', llm.url, '--model', 'beta', '--models', 'alpha,gamma'], /^parley: --models gamma: /);
    }));

  test('a key that the model server refuses, or misses', () =>
    withLlm({ key: 'good', models: ['stub'] }, async (model) => {
      const folder = makeFolder();
      await refused(model, /^parley: --llm-key-file is missing: http:\S+ requires a key: status 401/);
      await refused([...model, '--llm-key-file', folder.file('key', 'bad')], /^parley: --llm-key-file \S+: http:\S+ refused the key/);
      const embedder = ['--embeddings-url', model[1], '--model', 'stub'];
      await refused(embedder, /^parley: --llm-key-file is missing: /);
      await refused([...embedder, '--embeddings-key-file', folder.file('key', 'bad')], /^parley: --embeddings-key-file \S+: http:\S+ refused the key/);
      folder.remove();
    }));

  test('a model server that is not there, or fails', async () => {
    for (const flag of ['--llm', '--embeddings-url']) await refused([flag, await deadUrl(), '--model', 'stub'], new RegExp(`^parley: ${flag} http:\\S+: the model server does not respond`));
    await withLlm({ modelsStatus: 500 }, (model) => refused(model, /^parley: --llm http:\S+: .*status 500/));
  });

  test('--check-config confirms valid settings and exits 0', async () => {
    const folder = makeFolder();
    const base = ['engine', '--url', cluster.nodes[0].url, '--user', 'Inference_1', '--secret-file', folder.file('secret', ACCOUNTS.Inference_1.secret), '--check-config'];
    for (const how of [{}, { models: ['stub'] }, { models: ['stub:latest'] }, { models: [] }, { modelsStatus: 429 }]) {
      await withLlm(how, async (model) => {
        const { code, stdout } = await runParley([...base, ...model]);
        assert.equal(code, 0);
        assert.match(stdout, /would pull from http:\S+ as Inference_1/);
      });
    }
    folder.remove();
  });

  test('one node of two is enough to start', () =>
    withEngines(cluster, async ({ start }) => {
      await start([], { nodes: [{ url: await deadUrl() }, cluster.nodes[0]] });
      const { Topic } = await cluster.add();
      assert.equal((await cluster.check({ Topic, wait: 20, detail: true })).Status, 'Done');
    }));

  test('what comes a little later is waited for', () =>
    withEngines(cluster, async ({ start }) => {
      const late = await deadUrl();
      let heard;
      const engine = await start(['--llm', `${late}/v1`, '--model', 'stub', '--start-seconds', 60], { ready: false });
      const llm = await startServer((request, response) => {
        heard = request.url;
        response.writeHead(404).end();
      }, Number(new URL(late).port));
      while (!/pulling from/.test(engine.stdout)) await new Promise((resolve) => engine.child.stdout.once('data', resolve));
      assert.equal(heard, '/v1/models');
      await llm.stop();
    }));

  test('a signal ends the wait', () =>
    withEngines(cluster, async ({ start }) => {
      const engine = await start(['--start-seconds', 600], { nodes: [{ url: await deadUrl() }], ready: false });
      assert.deepEqual((await engine.stop()).signal ?? 'SIGTERM', 'SIGTERM');
    }));
});
