// SPDX-License-Identifier: MIT
//
// Nodes and their OpenID provider: when they fetch its keys, what operators see of it, its settings, and none.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { assertOk, eventually, runParley, suite, writeAccounts } from '../support/harness.mjs';
import { startProvider } from '../support/oidc.mjs';
import { assertDown, assertRefused, me, settings } from './oidc_requests.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a node asks its provider, and when: the same on any number of shards

const second = await startProvider();

suite('fetching keys', { args: settings(second, '--oidc-retry-seconds=3600') }, ({ test, cluster }) => {
  test('an unknown key makes each node fetch once in its interval', async () => {
    await eventually(() => second.keyRequests === 2, { what: 'both nodes have the keys' });
    for (const node of [0, 1]) assertOk(await me(cluster, second.sign(), { node }));
    assert.equal(second.keyRequests, 2, 'a known key needs no fetch');
    for (const kid of ['a', 'b', 'c']) {
      for (const node of [0, 1]) assertRefused(await me(cluster, second.sign({}, { header: { kid } }), { node }));
    }
    assert.equal(second.keyRequests, 4);
    second.rotate();
    for (const node of [0, 1]) assertRefused(await me(cluster, second.sign(), { node }));
    assert.equal(second.keyRequests, 4);
  });

  test('a refresh brings new keys and drops withdrawn ones, without anybody asking', async () => {
    const before = second.sign();
    const node = await cluster.startNode({ args: ['--oidc-refresh-seconds=1'] });
    await eventually(async () => (await me(cluster, before, { node })).status === 200);
    const withdrawn = second.keys;
    second.rotate();
    await eventually(async () => (await me(cluster, second.sign(), { node })).status === 200);
    assertRefused(await me(cluster, second.sign({}, { key: withdrawn.rsa }), { node }));
    await node.stop();
  });

  test('an address for the keys needs no discovery, and then any issuer will do', async () => {
    const url = `${second.issuer}/jwks`;
    const node = await cluster.startNode({ args: ['--oidc-issuer=', `--oidc-jwks-url=${url}`] });
    assertOk(await me(cluster, second.sign({ iss: 'https://id.example' }), { node }));
    assertRefused(await me(cluster, second.sign({ aud: 'x' }), { node }));
    await node.stop();
    const both = await cluster.startNode({ args: [`--oidc-jwks-url=${url}`] });
    assertOk(await me(cluster, second.sign(), { node: both }));
    assertRefused(await me(cluster, second.sign({ iss: 'https://id.example' }), { node: both }));
    await both.stop();
  });

  test('an issuer that ends with a slash is found, and compared as it is written', async () => {
    second.answerDiscovery({ body: JSON.stringify({ issuer: `${second.issuer}/`, jwks_uri: `${second.issuer}/jwks` }) });
    const node = await cluster.startNode({ args: [`--oidc-issuer=${second.issuer}/`] });
    assertOk(await me(cluster, second.sign({ iss: `${second.issuer}/` }), { node }));
    assertRefused(await me(cluster, second.sign(), { node }));
    await node.stop();
    second.answerDiscovery(undefined);
  });

  for (const [what, answers, pattern] of [
    ['discovery of another issuer', { discovery: { body: '{"issuer":"https://id.example","jwks_uri":"https://id.example/k"}' } }, /names another issuer/],
    ['discovery that is no JSON', { discovery: { body: '<html>' } }, /reason=/],
    ['discovery that is missing', { discovery: { status: 404 } }, /status 404/],
    ['a redirect', { keys: { status: 302, headers: { location: '/elsewhere' } } }, /status 302/],
    ['an endless key set', { keys: { body: `{"keys":[${' '.repeat(300_000)}]}` } }, /too large/],
    ['a key set without keys', { keys: { body: '{"keys":[]}' } }, /no usable key/],
    ['a key set with a secret', { keys: { body: '{"keys":[{"kty":"oct","k":"AAAA"}]}' } }, /no usable key/],
  ]) {
    test(`${what} is no key: 503, and the log says why`, async () => {
      second.answerDiscovery(answers.discovery);
      second.answerKeys(answers.keys);
      const node = await cluster.startNode();
      await node.waitForLog(pattern);
      assertDown(await me(cluster, second.sign(), { node }));
      second.answerDiscovery(undefined);
      second.answerKeys(undefined);
      await eventually(async () => (await me(cluster, second.sign(), { node })).status === 200);
      await node.stop();
    });
  }

  test('a key set that broke does not replace the good one', async () => {
    const node = await cluster.startNode({ args: ['--oidc-retry-seconds=0'] });
    assertOk(await me(cluster, second.sign(), { node }));
    second.answerKeys({ body: '{"keys":[]}' });
    assertDown(await me(cluster, second.sign({}, { header: { kid: 'new' } }), { node }));
    assertOk(await me(cluster, second.sign(), { node }));
    second.answerKeys(undefined);
    await node.stop();
  });

  test('a private address is refused unless it is allowed', async () => {
    const port = new URL(second.issuer).port;
    for (const host of ['127.0.0.1', 'localhost']) {
      const node = await cluster.startNode({ args: ['--oidc-allow-private=off', `--oidc-issuer=https://${host}:${port}`] });
      await node.waitForLog(/its address is private, which needs --oidc-allow-private/);
      assertDown(await me(cluster, second.sign(), { node }));
      await node.stop();
    }
  });
});

const third = await startProvider();

suite('what operators see of an OpenID provider', { args: settings(third, '--oidc-retry-seconds=0') }, ({ test, cluster }) => {
  const unknown = () => third.sign({}, { header: { kid: 'new' } });
  async function look(node) {
    const health = await cluster.request('GET', '/health', { node });
    const { text } = await cluster.request('GET', '/metrics', { node });
    const metric = (name) => /^ (.*)$/m.exec(text.split(`\nparley_openid_${name}`)[1] ?? '')?.[1];
    return {
      status: health.status,
      health: health.json.status,
      openid: health.json.dependencies.openid,
      fetches: Number(metric('fetches_total')),
      failures: Number(metric('failures_total')),
      keys: Number(metric('keys')),
      age: metric('keys_age_seconds'),
    };
  }

  test('keys that were fetched show in /health and in the metrics', async () => {
    for (const node of [0, 1]) {
      const seen = await eventually(async () => {
        const now = await look(node);
        return now.openid.status === 'connected' && now;
      }, { what: 'the keys are there' });
      assert.match(seen.openid.details.message, /^[1-9]\d* keys, fetched \d+ s ago\.$/);
      assert.ok(seen.fetches >= 1);
      assert.ok(seen.keys >= 4, `${seen.keys} keys`);
      assert.equal(seen.failures, 0);
      assert.ok(Number(seen.age) >= 0, `age ${seen.age}`);
    }
  });

  test('a provider that is down is an error that degrades, and its keys are still there', async () => {
    const known = third.sign();
    // With an engine on each node, nothing else is missing.
    const polls = [0, 1].map((node) => cluster.claimOpen({ wait: 120, node }));
    const before = await Promise.all(
      [0, 1].map((node) => eventually(async () => {
        const now = await look(node);
        return now.health === 'healthy' && now;
      }, { what: 'all is well' })),
    );
    await third.stop();
    try {
      for (const node of [0, 1]) {
        assertDown(await me(cluster, unknown(), { node }));
        const seen = await look(node);
        assert.equal(seen.status, 200);
        assert.equal(seen.health, 'degraded');
        assert.equal(seen.openid.status, 'error');
        assert.match(seen.openid.details.message, /^[1-9]\d* keys, fetched \d+ s ago; the last attempt failed, retrying\.$/);
        assert.ok(seen.failures > before[node].failures);
        assert.equal(seen.fetches, before[node].fetches);
        assert.equal(seen.keys, before[node].keys);
        assert.ok(Number(seen.age) >= Number(before[node].age));
        assertOk(await me(cluster, known, { node }));
        assert.equal((await cluster.request('GET', '/readyz', { node })).status, 200);
      }
      const node = await cluster.startNode();
      await node.waitForLog(/cannot fetch keys from the OpenID provider/);
      const seen = await look(node);
      assert.equal(seen.status, 200);
      assert.equal(seen.health, 'degraded');
      assert.deepEqual(seen.openid, { status: 'error', details: { message: 'It returned no keys: retrying.' } });
      assert.deepEqual([seen.fetches, seen.keys, seen.age], [0, 0, undefined]);
      await node.stop();
    } finally {
      await third.start();
    }
    for (const node of [0, 1]) {
      assertRefused(await me(cluster, unknown(), { node }));
      const seen = await look(node);
      assert.equal(seen.openid.status, 'connected');
      assert.equal(seen.health, 'healthy');
      assert.ok(seen.fetches > before[node].fetches);
    }
    polls.forEach(({ abort }) => abort());
  });
});

describe('settings of an OpenID provider', () => {
  const accounts = writeAccounts();
  after(() => accounts.remove());
  const check = (...flags) => runParley(['serve', '--check-config', '--accounts', accounts.path, ...flags]);

  for (const [what, flags, flag] of [
    ['a provider without an audience', ['--oidc-issuer=https://id.example'], 'oidc-audience'],
    ['keys without an audience', ['--oidc-jwks-url=https://id.example/k'], 'oidc-audience'],
    ['an issuer that is no URL', ['--oidc-issuer=id.example', '--oidc-audience=x'], 'oidc-issuer'],
    ['keys over http', ['--oidc-jwks-url=http://id.example/k', '--oidc-audience=x'], 'oidc-jwks-url'],
    ['a file', ['--oidc-jwks-url=file:///etc/passwd', '--oidc-audience=x'], 'oidc-jwks-url'],
  ]) {
    it(`${what}: one clear line and exit 2`, async () => {
      const { code, stderr } = await check(...flags);
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`^[^\\n]*--${flag}: [^\\n]+\\n$`));
    });
  }

  it('an issuer and an audience are enough', async () => {
    const { code, stderr } = await check('--oidc-issuer=https://id.example', '--oidc-audience=x');
    assert.equal(code, 0, stderr);
  });
});

describe('a node without a provider', () => {
  suite('tokens of strangers', {}, ({ test, cluster }) => {
    test('any foreign token is refused', async () => {
      for (const node of [0, 1]) assertRefused(await me(cluster, second.sign(), { node }));
    });
  });
});
