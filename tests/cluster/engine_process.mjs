// SPDX-License-Identifier: MIT
//
// engine_process: one engine as a process of its own, to be killed in the middle of an answer:
//   node engine_process.mjs URL ACCOUNT SECRET
// It claims, sends one partial answer, prints the claim as one line, and then only heartbeats.
import { openRequest, sign, withQuery } from '../support/http.mjs';

const [url, account, secret] = process.argv.slice(2);

function call(method, path, body, query = {}) {
  const signed = withQuery(path, { ...query, ...sign(account, secret) });
  return openRequest(url, method, signed, { body, timeout: 60_000 }).response;
}

const { json: claim } = await call('GET', '/api/get-new-queries', undefined, { Wait: 30, Detail: 'true' });
const { Topic, Lease } = claim;
const Seq = Number(Object.keys(claim.Queries[0])[0]);
const partial = { Topic, Seq, Lease, Offset: 0, Think: 'hm', Answer: 'The answer begins' };
const { status } = await call('POST', '/api/give-partial', partial);
process.stdout.write(`${JSON.stringify({ ...claim, partial: status })}\n`);
for (;;) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  await call('POST', '/api/extend-claim', { Topic, Lease });
}
