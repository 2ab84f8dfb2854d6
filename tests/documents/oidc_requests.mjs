// SPDX-License-Identifier: MIT
//
// oidc_requests: settings of nodes with an OpenID provider, requests with its tokens, and how they are refused.
import assert from 'node:assert/strict';
import { assertProblem } from '../support/harness.mjs';

// Failures count per address, so each comes from an address of its own.
let lastHost = 1;
export function newAddress() {
  lastHost += 1;
  return `127.5.${lastHost >> 7}.${(lastHost & 127) + 1}`;
}

export function settings(provider, ...more) {
  return [
    `--oidc-issuer=${provider.issuer}`,
    `--oidc-audience=${provider.audience}`,
    '--oidc-allow-private=on',
    '--log-level=info',
    ...more,
  ];
}

export function withToken(cluster, token, method, path, options = {}) {
  return cluster.request(method, path, {
    headers: { Authorization: `Bearer ${token}` },
    localAddress: newAddress(),
    ...options,
  });
}

export const me = (cluster, token, options) => withToken(cluster, token, 'GET', '/api/me', options);

export function assertRefused(response) {
  assertProblem(response, 401, 'unauthorized');
  assert.ok(response.headers['www-authenticate'], 'a 401 names how to authenticate');
}

export function assertDown(response) {
  assertProblem(response, 503, 'provider_down');
  assert.match(response.headers['retry-after'], /^[1-9]\d*$/);
}
