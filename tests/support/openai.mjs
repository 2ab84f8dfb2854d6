// SPDX-License-Identifier: MIT
//
// openai: holds answers of /v1 to OpenAI's specification (openai/openapi.json beside this: only the paths that Parley serves
// and what they refer to, without prose; MIT).
//
//   fits('ListModelsResponse', response.json)   returns the value; throws when it is not of that schema
//   ask(cluster, 'GET', '/v1/models', {as, body, …})   a request with `Authorization: Bearer` and a token of that account
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { assertOk } from './harness.mjs';

const require = createRequire(import.meta.url);
const SPECIFICATION = JSON.parse(readFileSync(new URL('openai/openapi.json', import.meta.url)));

let ajv;
function validatorOf(schema) {
  if (!ajv) {
    const Ajv = require('ajv/dist/2020').default;
    ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false });
    ajv.addSchema(SPECIFICATION, 'openai');
  }
  return ajv.getSchema(`openai#/components/schemas/${schema}`);
}

export function fits(schema, value) {
  const validate = validatorOf(schema);
  assert.ok(validate(value), `${schema}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 600)}`);
  return value;
}

// Tokens by cluster and account.
const tokens = new WeakMap();

export async function tokenOf(cluster, as) {
  if (!tokens.has(cluster)) tokens.set(cluster, {});
  const known = tokens.get(cluster);
  known[as] ??= assertOk(await cluster.request('GET', '/api/login', { as })).Token;
  return known[as];
}

export async function ask(cluster, method, path, { as = 'User_1', headers, ...options } = {}) {
  return cluster.request(method, path, { ...options, headers: { Authorization: `Bearer ${await tokenOf(cluster, as)}`, ...headers } });
}
