// SPDX-License-Identifier: MIT
//
// mistakes: what clients read when they have made one.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertProblem } from './harness.mjs';

// No request may get more than its own words.
function assertClean(response, [, path, { headers = {} }]) {
  for (const bad of ['<img', 'onerror=alert(1)>', 'hunter2', 'x'.repeat(80), ...Object.values(ACCOUNTS).map(({ secret: one }) => one)]) {
    assert.ok(!response.text.includes(bad), `${path} repeats ${bad.slice(0, 20)}: ${response.text.slice(0, 300)}`);
  }
  for (const value of [headers.Authorization, headers['x-caller-key'], headers['x-api-key']]) {
    assert.ok(!value || value.length < 9 || !response.text.includes(value.replace('Bearer ', '')), `${path} repeats its credentials`);
  }
}

// The request, as cluster.request takes it, gets that status and a detail with these words. PARLEY_SHOW=1 prints it.
export async function assertMistake(cluster, request, status, ...words) {
  const response = await cluster.request(...request);
  const problem = response.json ?? {};
  const { body, query = {} } = request[2];
  const sent = Buffer.isBuffer(body) ? '(a form)' : JSON.stringify(body ?? query).slice(0, 80);
  const shown = `${request[0]} ${request[1].slice(0, 80)} ${sent}: ${response.status} ${problem.detail}`;
  assert.equal(response.status, status, shown);
  assertProblem(response, status);
  for (const word of words) assert.ok(problem.detail.includes(word), `${shown}\n  lacks: ${word}`);
  assert.match(problem.detail, /^\S[^]*[.?!)]$/, shown);
  assertClean(response, request);
  if (process.env.PARLEY_SHOW) console.log(shown);
}
