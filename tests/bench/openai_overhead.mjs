// SPDX-License-Identifier: MIT
//
// openai_overhead: what a front adds to requests of OpenAI's interface: Parley (a node, Redis with an append-only file, an engine,
// accounts with budgets), and in the same run nginx and @portkey-ai/gateway, all in front of one model server that answers at once.
//
//   ./dev build release && npm ci --ignore-scripts --prefix tests/bench/peers
//   node tests/bench/openai_overhead.mjs [--rates 100,500] [--seconds 6] [--at-once 64] [--stream off] [--redis-fsync everysec]
//
//   --stream on     requests that stream, which @portkey-ai/gateway 1.15.2 refuses on Node 20 and 22
//   --only NAMES    of `direct` (no front: what the others are compared with), `nginx`, `portkey`, `parley`
//
// Requests are sent at a fixed rate, whatever has been answered, over connections that stay; then as fast as they are answered,
// --at-once at a time. Shows ms from sending a request to the end of its answer, what that is more than with `direct`, and
// processor time per request of each front's processes. Client, model server and front share the machine: at its limit they
// take turns, which says nothing of a front alone. Asserts nothing.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startEngine } from '../support/engines.mjs';
import { assertOk, eventually, RELEASE_BIN, runParley, startCluster, startRedis } from '../support/harness.mjs';
import { DEFAULTS, startNginx } from '../support/nginx.mjs';
import { ACCOUNTS } from '../support/node.mjs';
import { adopt, freePort } from '../support/redis.mjs';
import { cpuMs, quantile } from './peers/resumable_stream.mjs';

const { values } = parseArgs({
  options: {
    rates: { type: 'string', default: '100,500' },
    seconds: { type: 'string', default: '6' },
    'at-once': { type: 'string', default: '64' },
    stream: { type: 'string', default: 'off' },
    'redis-fsync': { type: 'string', default: 'everysec' },
    only: { type: 'string', default: 'direct,nginx,portkey,parley' },
  },
});
const MS = Number(values.seconds) * 1000;
const WARM_UP_MS = 1500;
const ACCOUNT_N = 40; // an account may have 10,000 requests a minute
const BODY = JSON.stringify({ model: 'm', stream: values.stream === 'on', messages: [{ role: 'user', content: 'How long do leases last?' }] });
const peer = (name) => fileURLToPath(new URL(`peers/${name}`, import.meta.url));

// --- fronts: {url, headers (a function of a request's number), processes ({name: pids}), stop()}

function direct(port) {
  return { url: `http://127.0.0.1:${port}`, headers: () => ({}), processes: {}, stop() {} };
}

// With connections to the server that stay, which its defaults do not have.
async function nginx(port) {
  const config = DEFAULTS.replace(/server node1:8080;/, '$&\n        keepalive 64;').replace(/proxy_pass .*;/, '$&\n            proxy_http_version 1.1;\n            proxy_set_header Connection "";');
  const { url, pid, stop } = await startNginx([port], { config });
  const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  return { url, headers: () => ({}), processes: { front: [pid, ...workers] }, stop };
}

async function portkey(model) {
  const port = await freePort();
  const child = adopt(spawn(process.execPath, [peer('node_modules/@portkey-ai/gateway/build/start-server.js'), `--port=${port}`, '--headless'], { stdio: 'ignore' }));
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(url), { what: 'portkey listens' });
  const headers = { Authorization: 'Bearer none', 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `http://127.0.0.1:${model}/v1` };
  return { url, headers: () => headers, processes: { front: [child.pid] }, stop: () => child.kill() };
}

async function parley(model) {
  const names = Array.from({ length: ACCOUNT_N }, (_, i) => `Client_${i}`);
  const budgets = { requests_per_minute: 10_000, tokens_per_day: 1_000_000_000, max_concurrent: 1000, max_waiting: 10_000 };
  const accounts = { ...ACCOUNTS, ...Object.fromEntries(names.map((name) => [name, { secret: `secret-of-${name}-0123456789`, role: 'user', ...budgets }])) };
  const redis = () => startRedis({ aof: true, args: ['--appendfsync', values['redis-fsync'], '--auto-aof-rewrite-percentage', '0'] });
  const cluster = await startCluster({ bin: RELEASE_BIN, nodes: 1, accounts, redis, args: ['--shards', 1] });
  const engine = await startEngine(cluster, ['--llm', `http://127.0.0.1:${model}/v1`, '--slots', values['at-once']], { bin: RELEASE_BIN });
  const keys = await Promise.all(names.map(async (name) => (await runParley(['account', '--accounts', cluster.accountsFile, 'key', name], { bin: RELEASE_BIN })).stdout.trim()));
  const headers = keys.map((key) => ({ Authorization: `Bearer ${key}` }));
  const isListed = async () => assertOk(await cluster.request('GET', '/v1/models', { headers: headers[0] })).data.length > 0;
  await eventually(isListed, { what: 'the model is listed' });
  const redisPid = Number(/process_id:(\d+)/.exec(await cluster.redis.cmd('INFO', 'server'))[1]);
  return {
    url: cluster.nodes[0].url,
    headers: (n) => headers[n % ACCOUNT_N],
    processes: { front: [cluster.nodes[0].child.pid], redis: [redisPid], engine: [engine.child.pid] },
    async stop() {
      await engine.stop();
      await cluster.stop();
    },
  };
}

// --- load

// Sends one request; onEnd(ms, is it good).
function send(front, agent, n, onEnd) {
  const begun = performance.now();
  const { hostname, port } = new URL(front.url);
  const request = http.request({ hostname, port, agent, method: 'POST', path: '/v1/chat/completions', headers: { 'Content-Type': 'application/json', 'Content-Length': BODY.length, ...front.headers(n) } });
  const end = (isGood) => onEnd(performance.now() - begun, isGood);
  request.on('error', () => end(false));
  request.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (part) => (text += part));
    response.on('end', () => end(response.statusCode === 200 && text.includes('seconds.')));
  });
  request.end(BODY);
}

const cpuOf = (front) => Object.fromEntries(Object.entries(front.processes).map(([name, pids]) => [name, cpuMs(pids)]));

// For `ms`: {times, failed, seconds}. rate: requests a second, or 0: as many as are answered.
async function load(front, agent, rate, ms) {
  const result = { times: [], failed: 0, open: 0, sent: 0 };
  const begun = performance.now();
  const isOver = () => performance.now() - begun >= ms;
  const one = (then) => {
    result.open += 1;
    result.sent += 1;
    send(front, agent, result.sent, (took, isGood) => {
      result.open -= 1;
      if (isGood) result.times.push(took);
      else result.failed += 1;
      then?.();
    });
  };
  const again = () => isOver() || one(again);
  if (rate === 0) for (let i = 0; i < Number(values['at-once']); i++) one(again);
  while (!isOver()) {
    await sleep(1);
    while (rate > 0 && result.sent < ((performance.now() - begun) * rate) / 1000) one();
  }
  while (result.open > 0) await sleep(5);
  return { ...result, seconds: (performance.now() - begun) / 1000 };
}

async function measure(front, rate) {
  const agent = new http.Agent({ keepAlive: true });
  await load(front, agent, rate, WARM_UP_MS);
  const before = cpuOf(front);
  const { times, failed, seconds } = await load(front, agent, rate, MS);
  const after = cpuOf(front);
  agent.destroy();
  times.sort((a, b) => a - b);
  const cpu = Object.fromEntries(Object.keys(before).map((name) => [name, ((after[name] - before[name]) * 1000) / (times.length + failed)]));
  return { perSecond: times.length / seconds, p50: quantile(times, 0.5), p99: quantile(times, 0.99), failed, cpu };
}

const server = adopt(fork(peer('model_server.mjs')));
const [port] = await once(server, 'message');
const FRONTS = { direct, nginx, portkey, parley };
const rates = [...values.rates.split(',').map(Number), 0];
const bare = {};
const cell = (value, digits, width) => (value === undefined ? '-' : value.toFixed(digits)).padStart(width);
console.log(`${values.stream === 'on' ? 'streams' : 'plain answers'}; ${values.seconds} s each; appendfsync ${values['redis-fsync']}; processor time in us per request`);
console.log('front    asked/s answered/s   p50 ms   p99 ms  + p50  + p99 | front  Redis engine | failed');
for (const name of values.only.split(',')) {
  const front = await FRONTS[name](port);
  for (const rate of rates) {
    const { perSecond, p50, p99, failed, cpu } = await measure(front, rate);
    bare[rate] ??= name === 'direct' ? { p50, p99 } : undefined;
    const base = name === 'direct' || rate === 0 ? undefined : bare[rate];
    const added = (key, value) => cell(base && value !== undefined ? value - base[key] : undefined, 2, 7);
    console.log(`${name.padEnd(8)} ${(rate === 0 ? `${values['at-once']} open` : `${rate}`).padStart(7)} ${cell(perSecond, 0, 10)} ${cell(p50, 2, 8)} ${cell(p99, 2, 8)}${added('p50', p50)}${added('p99', p99)} | ${cell(cpu.front, 0, 5)} ${cell(cpu.redis, 0, 6)} ${cell(cpu.engine, 0, 6)} | ${failed}`);
  }
  await front.stop();
}
server.disconnect();
