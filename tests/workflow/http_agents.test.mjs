// SPDX-License-Identifier: MIT
//
// Agents of kind http: a server of the test plays them.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { ACCOUNTS, makeFolder, suite } from '../support/harness.mjs';
import { decision, isOver, isStop, newId, openWorkflow, yes } from '../support/workflow.mjs';

const folder = makeFolder();
const secret = randomBytes(32);
const secretFile = folder.file('agent.secret', `whsec_${secret.toString('base64')}\n`);
const file = join(folder.dir, 'workflows.yaml');

// The server: each path has a script of answers, the last one for good.
const calls = [];
const scripts = {};
const server = http.createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const text = Buffer.concat(pieces).toString();
    calls.push({ path: request.url, headers: request.headers, text, json: JSON.parse(text) });
    const script = scripts[request.url];
    const answer = script.length > 1 ? script.shift() : script[0];
    if (answer === undefined) return;
    const { status = 200, headers = { 'content-type': 'application/json' }, body = answer } = answer;
    response.writeHead(status, headers).end(typeof body === 'string' ? body : '');
  });
});

const define = (expected) => ({ test, cluster }) => {
  const run = async (verb, script, body) => {
    const client = await openWorkflow(cluster, { node: 1 });
    const first = calls.length;
    scripts[`/${verb}`] = script;
    client.request(newId('session'), newId('request'), { verb, messageBody: { raw_text: 'pay "40" €' } });
    await body(await client.until((frame) => isOver(frame) || isStop(frame)), calls.slice(first));
    await client.close();
  };
  expected(test, run);
};

before(async () => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = (verb) => `http://localhost:${server.address().port}/${verb}`;
  writeFileSync(
    file,
    `WORKFLOWS:
  PAY: {tool.pay: {yes: null, no: sendMessageToChat}}
  SIGNED: {tool.signed: {yes: null, no: sendMessageToChat}}
  SLOW: {tool.slow: {yes: null, no: sendMessageToChat}}
AGENTS:
  tool.pay: {kind: http, url: '${url('PAY')}'}
  tool.signed: {kind: http, url: '${url('SIGNED')}', secret_file: ${secretFile}, retries: 0}
  tool.slow: {kind: http, url: '${url('SLOW')}', timeout: 3, retries: 1}
`,
  );
});
after(() => {
  server.closeAllConnections();
  server.close();
  folder.remove();
});

const env = { PARLEY_WORKFLOWS: file };

suite(
  'http agents at an address that is allowed',
  { accounts: ACCOUNTS, sweep: false, env: { ...env, PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' } },
  define((test, run) => {
    test('a yes ends the run with its output', () =>
      run('PAY', [yes({ payment: 7 }, 'Paid.')], ([frame, ...rest], [call, ...more]) => {
        assert.deepEqual([rest, more], [[], []]);
        assert.deepEqual([frame.agent, frame.decision, frame.reason, frame.returnCode], ['tool.pay', 'yes', 'Paid.', 1]);
        assert.deepEqual(frame.messageBody, { raw_text: 'pay "40" €', payment: 7 });
        const { run: id, ...members } = call.json;
        assert.match(id, /^[0-9a-f]{32}\.\d+$/);
        assert.deepEqual(members, { step: 1, agent: 'tool.pay', verb: 'PAY', attempt: 1, messageBody: { raw_text: 'pay "40" €' } });
        assert.equal(call.headers['idempotency-key'], `${id.replace('.', '-')}-1-1`);
        assert.equal(call.headers['webhook-id'], undefined);
      }));

    test('what is no decision, or a server in trouble, is asked again under a new key', () =>
      run('PAY', ['<html>', { status: 503 }, yes()], ([frame], got) => {
        assert.equal(frame.decision, 'yes');
        assert.deepEqual(got.map(({ json }) => json.attempt), [1, 2, 3]);
        assert.equal(new Set(got.map(({ headers }) => headers['idempotency-key'])).size, 3);
      }));

    for (const [name, answer, attempts, reason] of [
      ['prose', 'Sure!', 3, /not one JSON object/],
      ['an answer of 64 MiB', `"${'x'.repeat(64 << 20)}"`, 3, /larger than 64 KiB/],
      ['a redirect', { status: 302, headers: { location: '/SLOW' } }, 1, /302, and redirects are not followed/],
      ['404', { status: 404 }, 1, /404/],
      ['a no', decision('no', 'Too much.'), 1, /^Too much\.$/],
    ])
      test(`${name} stops at a person`, () =>
        run('PAY', [answer], ([frame], got) => {
          assert.equal(frame.decision, 'no');
          assert.equal(frame.nextAgent, 'sendMessageToChat');
          assert.match(frame.reason, reason);
          assert.equal(got.length, attempts);
        }));

    test('a server that never answers is left after the time of the agent', () =>
      run('SLOW', [undefined], ([frame], got) => {
        assert.match(frame.reason, /did not answer within 3 s/);
        assert.equal(got.length, 2);
      }));

    test('a secret signs each call', () =>
      run('SIGNED', [yes()], ([frame], [{ headers, text }]) => {
        assert.equal(frame.decision, 'yes');
        const [id, at] = [headers['webhook-id'], headers['webhook-timestamp']];
        assert.equal(id, headers['idempotency-key']);
        assert.ok(Math.abs(at - Date.now() / 1000) < 300);
        assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', secret).update(`${id}.${at}.${text}`).digest('base64')}`);
      }));
  }),
);

suite(
  'http agents at an address that is not allowed',
  { accounts: ACCOUNTS, sweep: false, env },
  define((test, run) =>
    test('nothing is sent, and the reason says how to allow it', () =>
      run('PAY', [yes()], ([frame], got) => {
        assert.deepEqual(got, []);
        assert.equal(frame.decision, 'no');
        assert.match(frame.reason, /private address.*PARLEY_ALLOW_PRIVATE_ENDPOINTS=on/);
      })),
  ),
);
