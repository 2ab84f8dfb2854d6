// SPDX-License-Identifier: MIT
//
// All nodes are restarted one after another while clients and engines use them through a real nginx, with the configuration
// of deploy/. Nobody repeats anything, and no request fails; with kill -9 clients repeat what failed, and nothing is lost
// or doubled.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ACCOUNTS, adopt, Cluster, eventually, freePort } from '../support/harness.mjs';
import { failTimeoutMs, findNginx, nodesOfConfig, startNginx } from '../support/nginx.mjs';
import { check } from './chaos_checker.mjs';
import { startClients } from './chaos_clients.mjs';
import { insist } from './chaos_http.mjs';
import { metric, stop } from './watch.mjs';

const { program, reason } = findNginx();
const ROUNDS = process.env.PARLEY_NIGHTLY === '1' ? 10 : 1;
const ENGINE = join(dirname(fileURLToPath(import.meta.url)), 'chaos_engine.mjs');
const FLAGS = ['--lease-seconds', 3, '--max-attempts', 100, '--rescan-seconds', 1, '--indexers', 0];
const [FRONTEND, ENGINE_ACCOUNT] = ['Frontend_1', 'Inference_1'].map((name) => ({ name, ...ACCOUNTS[name] }));

// Nodes on ports of their own, and nginx in front of them.
class Site {
  constructor() {
    this.events = [];
    this.engines = [];
  }

  async start() {
    this.cluster = await new Cluster({ nodes: 0, aof: true, args: FLAGS }).start();
    this.ports = await Promise.all(Array.from({ length: nodesOfConfig() }, freePort));
    this.nodes = await Promise.all(this.ports.map((port) => this.#launch(port)));
    this.nginx = await startNginx(this.ports, { program });
  }

  #launch(port) {
    return this.cluster.startNode({ listen: `127.0.0.1:${port}` });
  }

  startEngine(label) {
    const { name, secret } = ENGINE_ACCOUNT;
    const child = adopt(spawn(process.execPath, [ENGINE, this.nginx.url, name, secret, '4', label], { stdio: ['ignore', 'pipe', 'inherit'] }));
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop();
      for (const line of lines) this.events.push(JSON.parse(line));
    });
    this.engines.push(child);
  }

  // The next one may be restarted when nginx uses this one again.
  async restart(i, signal) {
    if (signal === 'SIGKILL') await this.nodes[i].kill();
    else await this.nodes[i].stop();
    const node = (this.nodes[i] = await this.#launch(this.ports[i]));
    // nginx leaves a node out for a while that it could not reach once; what it had begun to send there arrives all the same.
    const up = Date.now();
    await eventually(() => Date.now() - up > failTimeoutMs(), { what: 'nginx tries every node again' });
    const adds = () => metric(this.cluster, node, 'parley_queries_added_total');
    const before = await adds();
    await eventually(async () => (await adds()) >= before + 3, { ms: 90_000, every: 200, what: `nginx uses node ${i} again` });
  }

  endEngines() {
    for (const child of this.engines) child.kill('SIGKILL');
  }

  async end() {
    this.endEngines();
    await this.nginx?.stop();
    await this.cluster?.stop();
  }
}

async function withSite(body) {
  const site = new Site();
  try {
    await site.start();
    await body(site);
  } catch (error) {
    site.cluster?.printLogs(new Map());
    console.error(`--- nginx\n${site.nginx?.log().slice(-4000)}\n---`);
    throw error;
  } finally {
    await site.end();
  }
}

async function readThreads(urls, questions) {
  const threads = new Map();
  for (const topic of new Set(questions.map((question) => question.topic))) {
    const { status, json, text } = await insist(urls, 'GET', '/api/get-topic-thread', { account: FRONTEND, query: { Topic: topic, Detail: 'true' } });
    assert.ok([200, 404].includes(status), text);
    if (status === 200) threads.set(topic, json);
  }
  return threads;
}

// Load through nginx while each node is ended by that signal, one after another. Returns what failed, and figures.
async function roll(site, signal) {
  const failed = [];
  const clients = startClients({ urls: [site.nginx.url], account: FRONTEND, atOnce: 24, onRetry: (why) => failed.push(why) });
  let broken;
  clients.done.catch((error) => (broken = error));
  for (const label of ['one', 'two', 'three']) site.startEngine(label);
  const began = Date.now();
  const reached = async (n) => {
    await eventually(() => broken || clients.answered >= n, { ms: 90_000, what: `${n} questions are answered` });
    if (broken) throw broken;
  };
  await reached(200);
  const restarts = ROUNDS * site.nodes.length;
  for (let i = 0; i < restarts; i++) {
    await site.restart(i % site.nodes.length, signal);
    await reached(clients.answered + 100);
  }
  clients.stop();
  let isOver = false;
  clients.done.then(() => (isOver = true), () => {});
  await eventually(() => broken || isOver, { ms: 90_000, what: 'every client has its answer' });
  if (broken) throw broken;
  const requests = site.nginx.requests();
  failed.push(...site.events.filter(({ did }) => did === 'again').map(({ why }) => why));
  const { wrong, figures } = check({ questions: clients.questions, events: site.events, threads: await readThreads([site.nginx.url], clients.questions) });
  return {
    wrong,
    failed,
    requests,
    figures: {
      restarts,
      seconds: Math.round((Date.now() - began) / 1000),
      'requests through nginx': requests.length,
      'sent to another node': requests.filter(({ upstreams }) => upstreams.length > 1).length,
      'failed requests': failed.length,
      ...figures,
    },
  };
}

// What failed how often, without the parts that differ each time.
function countKinds(failed) {
  const kinds = {};
  for (const why of failed) {
    const kind = why.replace(/\?\S+/, '').replace(/"instance".*|\s+/g, ' ').slice(0, 160);
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}

const print = (t, figures) => t.diagnostic(Object.entries(figures).map(([name, n]) => `${name}: ${n}`).join(', '));

describe('nodes behind nginx', { skip: reason }, () => {
  it('a rolling restart under load: no request fails, and no answer is lost or doubled', { timeout: 600_000 }, (t) =>
    withSite(async (site) => {
      const { wrong, failed, requests, figures } = await roll(site, 'SIGTERM');
      print(t, figures);
      assert.deepEqual(failed.slice(0, 10), []);
      assert.deepEqual(requests.filter(({ status }) => status >= 500), []);
      assert.deepEqual(wrong.slice(0, 10), []);
    }));

  it('kill -9 of each node under load, with clients that send again: no answer is lost or doubled', { timeout: 600_000 }, (t) =>
    withSite(async (site) => {
      const { wrong, failed, figures } = await roll(site, 'SIGKILL');
      print(t, figures);
      for (const [kind, n] of Object.entries(countKinds(failed))) t.diagnostic(`${n} times: ${kind}`);
      assert.deepEqual(wrong.slice(0, 10), []);
    }));
});

describe('a node that is stopped by SIGTERM', () => {
  async function withNode(body, args = []) {
    const cluster = await new Cluster({ nodes: 1, args: [...FLAGS, ...args] }).start();
    try {
      await body(cluster, cluster.nodes[0]);
    } catch (error) {
      cluster.printLogs(new Map());
      throw error;
    } finally {
      await cluster.stop();
    }
  }

  // Resolves with the socket once the connection is up.
  function connect(url) {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const request = http.request({ host: hostname, port, path: '/readyz', agent: false });
      request.on('socket', (socket) => socket.once('connect', () => resolve({ request, socket })));
      request.on('error', reject);
    });
  }

  it('answers those who connected before, though it has not accepted them yet', () =>
    withNode(async (cluster, node) => {
      await stop(node); // it accepts nobody
      const waiting = await Promise.all(Array.from({ length: 500 }, () => connect(node.url)));
      node.signal('SIGTERM');
      node.signal('SIGCONT');
      const answers = await Promise.all(
        waiting.map(({ request }) => new Promise((resolve, reject) => {
          request.on('error', reject);
          request.on('response', (response) => resolve(response.resume()));
          request.end();
        })),
      );
      for (const { statusCode, headers } of answers) assert.ok([200, 503].includes(statusCode) && headers.connection === 'close', `${statusCode} ${headers.connection}`);
      assert.equal((await node.exited()).code, 0);
    }));

  it('says at once that it is not ready, on a connection that stands, and refuses new ones', () =>
    withNode(async (cluster, node) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      const probe = () => cluster.request('GET', '/readyz', { node, agent });
      assert.equal((await probe()).status, 200);
      const poll = cluster.claimOpen({ node, wait: 60 }); // not over before it is answered
      await eventually(async () => (await probe()).status === 200);
      node.signal('SIGTERM');
      await node.waitForLog(/draining/);
      const { status, json, headers } = await probe();
      assert.deepEqual([status, json.code, headers.connection], [503, 'draining', 'close']);
      await eventually(() => connect(node.url).then(({ socket }) => !socket.destroy(), ({ code }) => code === 'ECONNREFUSED'), { what: 'new connections are refused' });
      assert.equal((await poll.response).status, 200);
      assert.equal((await node.exited()).code, 0);
      agent.destroy();
    }));

  it('ends although clients keep connections open that they do not use', () =>
    withNode(async (cluster, node) => {
      const idle = await Promise.all(Array.from({ length: 20 }, () => connect(node.url)));
      node.signal('SIGTERM');
      assert.equal((await node.exited(50_000)).code, 0);
      for (const { request, socket } of idle) socket.destroy() && request.destroy();
    }, ['--drain-seconds', 60])); // it ends without waiting for them
});
