// SPDX-License-Identifier: MIT
//
// other_account: another account's requests while attacks.mjs runs, in a process of its own: it does not wait for what the
// attackers' clients do. A question, and a look at it, every 20 ms.
//
//   fork('other_account.mjs', [url, account, secret]); it sends the times of both, in ms, once it is sent anything
import { assertOk, openRequest, sign, withQuery } from '../support/harness.mjs';

const [, , url, account, secret] = process.argv;
const LEAST_N = 20;
const PAUSE_MS = 20;

async function timed(times, method, path, body) {
  const began = performance.now();
  const query = sign(account, secret);
  assertOk(await openRequest(url, method, withQuery(path, query), { body, timeout: 300_000 }).response);
  times.push(performance.now() - began);
}

const adds = [], checks = [];
let is_over = false;
process.once('message', () => (is_over = true));
process.once('disconnect', () => process.exit());
for (let i = 0; !is_over || i < LEAST_N; i++) {
  const Topic = `other-${process.pid}-${i}`;
  await timed(adds, 'POST', '/api/add-query', { Topic, User: 'other', Query: 'short' });
  await timed(checks, 'GET', `/api/check-query?Topic=${Topic}&Seq=1&Wait=0`);
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
process.send({ adds, checks });
process.disconnect();
