// SPDX-License-Identifier: MIT
//
// chaos_engine: an engine as a process of its own, which chaos.test.mjs kills and starts again:
//   node chaos_engine.mjs URL,URL NAME SECRET SLOTS LABEL
// It writes down all that it does, one JSON line each, before it does the next thing, so that what it did before it was
// killed is known. It answers each attempt with words of its own. Some claims it gives back, and some it forgets for
// longer than a lease.
import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { insist } from './chaos_http.mjs';

const [, , list, name, secret, slots, label] = process.argv;
const urls = list.split(',');
const account = { name, secret };
// Of this whole machine, in ms.
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;
const note = (what) => writeSync(1, `${JSON.stringify(what)}\n`);
const chance = (share) => Math.random() < share;

const call = (method, path, options) => insist(urls, method, path, { account, ...options }, { onRetry: (why) => note({ did: 'again', why }) });

async function answer(claim, Seq, Query, isLast) {
  const { Topic, Lease } = claim;
  const text = `${Query} answered ${randomBytes(6).toString('hex')} under ${Lease}`;
  if (chance(0.25)) {
    const body = { Topic, Seq, Lease, Offset: 0, Answer: text.slice(0, text.length / 2) };
    await call('POST', '/api/give-partial', { body });
  }
  note({ did: 'try', query: Query, lease: Lease, text });
  const next = isLast && chance(0.5);
  const sent = now();
  const { status, json } = await call('POST', '/api/give-new-answer', {
    query: { Next: next ? 'true' : undefined, Detail: 'true' },
    body: { Topic, Seq, Query, Lease, Answer: [text] },
  });
  note({ did: 'answered', query: Query, text, status, code: json?.code, at: now() });
  return status === 200 && json.Next?.Topic ? { ...json.Next, sent } : null;
}

// Answers a claim; resolves with the next one, if the last answer brought it.
async function work(claim) {
  const { Topic, Lease, Queries, sent } = claim;
  const rows = Queries.map((entry) => Object.entries(entry)[0]).map(([Seq, Query]) => [Number(Seq), Query]);
  note({ did: 'claim', topic: Topic, lease: Lease, attempt: claim.Attempt, rows, sent, at: now() });
  if (chance(0.01)) {
    await call('POST', '/api/release-claim', { body: { Topic, Lease, Reason: 'another time', Retry: true } });
    return null;
  }
  if (chance(0.003)) await new Promise((resolve) => setTimeout(resolve, (claim.LeaseSeconds + 1) * 1000));
  let next = null;
  for (const [i, [Seq, Query]] of rows.entries()) next = await answer(claim, Seq, Query, i === rows.length - 1);
  return next;
}

async function slot() {
  for (;;) {
    const sent = now();
    const { status, json } = await call('GET', '/api/get-new-queries', { query: { Wait: 10, Detail: 'true' } });
    if (status !== 200) throw new Error(`get-new-queries: ${status} ${JSON.stringify(json)}`);
    let claim = json.Topic && { ...json, sent };
    while (claim) claim = await work(claim);
  }
}

note({ did: 'start', label });
await Promise.all(Array.from({ length: Number(slots) }, slot));
