// SPDX-License-Identifier: MIT
//
// workflow_steps: the time from an agent's answer to the next agent's question at a parked poll, beside the time from an
// add-query to a parked poll (a wake), in one run, alternating, on one node with a Redis of its own (append-only file).
//
//   node tests/bench/workflow_steps.mjs [RUNS] [--json]    the release build; PARLEY_BIN names another one
//
// Each time begins before the request is written and ends when the poll's response has been read, so it contains the
// HTTP of both. A run of the shipped tree RULE gives three steps between model agents. Prints milliseconds, p50 and p99;
// asserts nothing.
import http from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sign } from '../support/http.mjs';
import { ACCOUNTS, accountsYaml, makeFolder, RELEASE_BIN, startNode } from '../support/node.mjs';
import { startRedis } from '../support/redis.mjs';
import { openWatch } from '../support/websocket.mjs';

const RUNS = Number(process.argv.find((word) => /^\d+$/.test(word)) ?? 200);
const PARK_MS = 4;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const folder = makeFolder();
const accounts = folder.file('accounts.yaml', accountsYaml());
const redis = await startRedis({ aof: true, args: ['--appendfsync', 'everysec'] });
const node = await startNode({ redis, accounts, bin: RELEASE_BIN, args: ['--target', 'broker,workflow', '--sql-url', `sqlite:${join(folder.dir, 'sample.db')}`, '--log-level', 'error'] });

const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const tokens = {};

function send(as, method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { ...(tokens[as] && { authorization: `Bearer ${tokens[as]}` }), ...(body && { 'content-type': 'application/json' }) };
    const request = http.request(node.url + path, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece) => (text += piece)).on('end', () => {
        if (response.statusCode >= 300) reject(new Error(`${path}: ${response.statusCode} ${text}`));
        else resolve({ body: text ? JSON.parse(text) : null, at: now() });
      });
    });
    request.on('error', reject).end(body && JSON.stringify(body));
  });
}

const park = async () => {
  const poll = send('Inference_1', 'GET', '/api/get-new-queries?Wait=60');
  await sleep(PARK_MS);
  const { body, at } = await poll;
  const [[Seq, Query]] = Object.entries(body.Queries[0]);
  return { at, Topic: body.Topic, Seq: Number(Seq), Query };
};
const answer = ({ Topic, Seq, Query }, text) => send('Inference_1', 'POST', '/api/give-new-answer', { Topic, Seq, Query, Answer: [text] });

const shown = (samples) => {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (part) => Number(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))].toFixed(3));
  return { n: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99) };
};

try {
  for (const name of ['Frontend_1', 'Inference_1']) {
    const { body } = await send(null, 'GET', `/api/login?${new URLSearchParams(sign(name, ACCOUNTS[name].secret))}`);
    tokens[name] = body.Token;
  }
  const socket = await openWatch(`${node.url}/ws?${new URLSearchParams({ token: tokens.Frontend_1, OnBehalfOf: 'alice' })}`);
  const wakes = [];
  const steps = [];
  for (let i = 0; i < RUNS; i++) {
    let poll = park();
    await sleep(PARK_MS);
    let from = now();
    const added = send('Frontend_1', 'POST', '/api/add-query', { Topic: `wake-${i}`, User: 'alice', Query: 'Hello?' });
    let claim = await poll;
    wakes.push(claim.at - from);
    await added;
    await answer(claim, 'Hello.');

    poll = park();
    await sleep(PARK_MS);
    socket.send(JSON.stringify({ type: 'request', version: '1.1', timestamp: Date.now(), session_id: `session-${i}`, request_id: `request-${i}`, verb: 'RULE', messageBody: { raw_text: 'run Show patterns' } }));
    claim = await poll;
    for (let step = 0; step < 3; step++) {
      poll = park();
      await sleep(PARK_MS);
      from = now();
      const output = step === 2 ? { sql_query: 'SELECT id FROM patterns LIMIT 1' } : {};
      const answered = answer(claim, JSON.stringify({ decision: 'yes', confidence: 0.9, reason: 'It fits.', output }));
      claim = await poll;
      steps.push(claim.at - from);
      await answered;
    }
    await answer(claim, JSON.stringify({ decision: 'yes', confidence: 0.9, reason: 'It fits.', output: {} }));
    for (;;) if ((await socket.next()).nextAgent === null) break;
  }
  const result = { wake: shown(wakes), step: shown(steps) };
  if (process.argv.includes('--json')) console.log(JSON.stringify(result));
  else for (const [what, figures] of Object.entries(result)) console.log(what.padEnd(6), `${figures.n} samples, p50 ${figures.p50_ms} ms, p99 ${figures.p99_ms} ms`);
  await socket.close();
} finally {
  agent.destroy();
  await node.stop();
  await redis.stop();
  folder.remove();
}
