// SPDX-License-Identifier: MIT
//
// Programs that sign their user in for POST /mcp with an OpenID provider (RFC 9728), with the official client.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import assert from 'node:assert/strict';
import { assertOk, assertProblem, suite } from '../support/harness.mjs';
import { assertResult, post } from '../support/mcp.mjs';
import { CLIENT, startProvider } from '../support/oidc.mjs';
import { settings } from './oidc_requests.mjs';

const provider = await startProvider();
const PUBLIC = 'http://parley.invalid/x';
const METADATA = '/.well-known/oauth-protected-resource';

suite('signing in for tools', { args: settings(provider, `--public-url=${PUBLIC}/`), sweep: false }, ({ test, cluster }) => {
  // The proxy at the public address.
  const throughProxy = (url, init) => {
    const path = `${url}`.startsWith(PUBLIC) ? `${url}`.slice(PUBLIC.length) : undefined;
    return fetch(path === undefined ? url : new URL(path, cluster.pick().url), init);
  };

  test('a program finds the provider by the challenge, and calls with the token that its user gets there', async () => {
    const kept = {};
    const authProvider = {
      redirectUrl: CLIENT.redirect,
      clientMetadata: { redirect_uris: [CLIENT.redirect] },
      clientInformation: () => ({ client_id: CLIENT.publicId }),
      tokens: () => kept.tokens,
      saveTokens: (tokens) => (kept.tokens = tokens),
      saveCodeVerifier: (verifier) => (kept.verifier = verifier),
      codeVerifier: () => kept.verifier,
      redirectToAuthorization: (url) => (kept.url = url),
    };
    const connect = async () => {
      const client = new Client({ name: 'parley-tests', version: '1' });
      const transport = new StreamableHTTPClientTransport(new URL(`${PUBLIC}/mcp`), { authProvider, fetch: throughProxy });
      return { client, transport, connected: await client.connect(transport).then(() => true, ({ name, message }) => `${name} ${message}`) };
    };
    const first = await connect();
    assert.match(`${first.connected}`, /Unauthorized/);
    assert.equal(kept.url.origin, provider.issuer);
    assert.deepEqual([kept.url.searchParams.get('resource'), kept.url.searchParams.get('scope')], [`${PUBLIC}/mcp`, 'openid']);
    kept.url.searchParams.set('login_hint', 'alice');
    const back = new URL(await provider.follow(kept.url.href, CLIENT.redirect));
    await first.transport.finishAuth(back.searchParams.get('code'));
    const second = await connect();
    assert.equal(second.connected, true);
    assert.ok((await second.client.listTools()).tools.length > 0);
    assert.deepEqual((await second.client.listResources()).resources, []);
    await second.client.close();
  });

  test('the metadata are of the resource whose path is asked for', async () => {
    for (const [path, resource] of [[METADATA, PUBLIC], [`${METADATA}/mcp`, `${PUBLIC}/mcp`]]) {
      const { authorization_servers, bearer_methods_supported, scopes_supported, ...rest } = assertOk(await cluster.request('GET', path));
      assert.deepEqual([authorization_servers, bearer_methods_supported, scopes_supported], [[provider.issuer], ['header'], ['openid']]);
      assert.equal(rest.resource, resource);
    }
    assertProblem(await cluster.request('GET', `${METADATA}/x`), 404, 'no_route');
  });

  test('the challenge of /mcp names the metadata, and other routes do not', async () => {
    const challengeOf = async (path, headers) => {
      const response = await cluster.request('POST', path, { headers, body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
      assertProblem(response, 401, 'unauthorized');
      return response.headers['www-authenticate'];
    };
    const challenge = `Bearer realm="parley", resource_metadata="${PUBLIC}${METADATA}/mcp", Parley-Signed realm="parley"`;
    assert.equal(await challengeOf('/mcp'), challenge);
    assert.equal(await challengeOf('/mcp', { Authorization: `Bearer ${provider.sign({ aud: 'x' })}` }), challenge);
    assert.equal(await challengeOf('/api/rag/retrieve'), 'Bearer realm="parley", Parley-Signed realm="parley"');
    assertResult(await post(cluster, 'ping', undefined, { headers: { Authorization: `Bearer ${provider.sign()}` } }));
  });

  test('without a provider or a public address there are none', async () => {
    for (const flag of ['--public-url=', '--oidc-issuer=']) {
      const node = await cluster.startNode({ args: flag === '--public-url=' ? [flag] : [flag, `--oidc-jwks-url=${provider.issuer}/jwks`] });
      assertProblem(await cluster.request('GET', METADATA, { node }), 404, 'not_found');
      const { headers } = await cluster.request('POST', '/mcp', { node, body: {} });
      assert.equal(headers['www-authenticate'], 'Bearer realm="parley", Parley-Signed realm="parley"');
      await node.stop();
    }
  });
});
