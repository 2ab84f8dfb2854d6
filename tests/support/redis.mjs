// SPDX-License-Identifier: MIT
//
// redis: a private redis-server on a free port of 127.0.0.1, in a folder of its own, and a client
// that is just large enough to read what a script left behind. One per test file; nothing survives
// stop(). The data folder is kept across kill() and restart(), so an append-only file is read again.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const STARTUP_MS = 30_000;
const live = new Set();

// A test process that ends in any way takes its servers along.
const killAll = () => {
  for (const child of live) child.kill('SIGKILL');
};
process.on('exit', killAll);
// It would not end while one of them runs that a failed test has left. (Benchmarks have no tests.)
if (process.argv[1]?.endsWith('.test.mjs')) after(killAll);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => process.exit(1));
}

// Registers a child to be killed when the test process exits.
export function adopt(child) {
  live.add(child);
  child.once('exit', () => live.delete(child));
  return child;
}

// A port that was free a moment ago; the caller retries when somebody was quicker. It is none that the system gives to
// others by itself, so that a server that was killed finds its port free.
export async function freePort() {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const server = net.createServer().listen(port, '127.0.0.1');
    const isFree = await new Promise((resolve) => server.once('listening', () => resolve(true)).once('error', () => resolve(false)));
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

// Resolves with {code, signal} once the child is gone, or rejects after `ms`.
export function exited(child, ms, what) {
  if (child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve({ code: child.exitCode, signal: child.signalCode });
  }
  return new Promise((resolve, reject) => {
    // Not before it was looked for once more: a machine that was suspended finds its timers first.
    const timer = setTimeout(() => setImmediate(() => reject(new Error(`${what} still runs after ${ms} ms`))), ms);
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal });
    });
  });
}

// Parses one RESP2 reply that starts at `at`. Returns [value, next] or null when bytes are missing.
// encoding: 'latin1' keeps any bytes, one character each.
export function parseReply(buffer, at, encoding = 'utf8') {
  const eol = buffer.indexOf('\r\n', at);
  if (eol < 0) return null;
  const head = buffer.toString('utf8', at + 1, eol);
  let next = eol + 2;
  switch (String.fromCharCode(buffer[at])) {
    case '+':
      return [head, next];
    case '-':
      return [new Error(head), next];
    case ':':
      return [Number(head), next];
    case '$': {
      const length = Number(head);
      if (length < 0) return [null, next];
      if (buffer.length < next + length + 2) return null;
      return [buffer.toString(encoding, next, next + length), next + length + 2];
    }
    case '*': {
      const count = Number(head);
      if (count < 0) return [null, next];
      const items = [];
      for (let i = 0; i < count; i++) {
        const item = parseReply(buffer, next, encoding);
        if (!item) return null;
        items.push(item[0]);
        next = item[1];
      }
      return [items, next];
    }
    default:
      throw new Error(`not RESP: ${buffer.toString('latin1', at, at + 40)}`);
  }
}

// Where the reply that begins at `at` ends. Negative: it is not whole, nor worth another look before so many bytes are
// there; so a large one is not put together again with each piece of it.
function endOf(buffer, at) {
  const eol = buffer.indexOf('\r\n', at);
  if (eol < 0) return -(buffer.length + 1);
  let end = eol + 2;
  const kind = String.fromCharCode(buffer[at]);
  const n = Number(buffer.toString('latin1', at + 1, eol));
  if (kind === '$' && n >= 0) end += n + 2;
  if (kind === '*') for (let i = 0; i < n && end > 0; i++) end = endOf(buffer, end);
  return end <= buffer.length ? end : -end;
}

// One connection. cmd(...words) resolves with a string, number, null, or array; an error reply rejects.
export class RedisClient {
  #socket;
  #chunks = [];
  #size = 0;
  #need = 0;
  #waiting = [];
  #encoding;

  constructor(port, encoding = 'utf8', password = '') {
    this.#encoding = encoding;
    this.#socket = net.connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('Redis closed the connection')));
    if (password) this.cmd('AUTH', password).catch(() => {}); // the next command fails, and says why
  }

  get isClosed() {
    return this.#socket.destroyed;
  }

  cmd(...words) {
    const parts = words.map((word) => Buffer.from(String(word), this.#encoding));
    const frame = [Buffer.from(`*${parts.length}\r\n`)];
    for (const part of parts) frame.push(Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n'));
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('Redis closed the connection'));
      this.#waiting.push({ resolve, reject });
      this.#socket.write(Buffer.concat(frame));
    });
  }

  close() {
    this.#socket.destroy();
  }

  #read(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#need) return;
    const buffer = Buffer.concat(this.#chunks);
    let at = 0;
    let end = 0;
    for (; at < buffer.length && (end = endOf(buffer, at)) > 0; at = end) {
      const [reply] = parseReply(buffer, at, this.#encoding);
      const { resolve, reject } = this.#waiting.shift();
      if (reply instanceof Error) reject(reply);
      else resolve(reply);
    }
    this.#chunks = [buffer.subarray(at)];
    this.#size = buffer.length - at;
    this.#need = end < 0 ? -end - at : 0;
  }

  #fail(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

// Does that process answer there, and no other one that was quicker to take the port?
async function answers(port, password, { pid }) {
  const client = new RedisClient(port, 'utf8', password);
  try {
    return (await client.cmd('PING')) === 'PONG' && (await client.cmd('INFO', 'server')).includes(`process_id:${pid}\r\n`);
  } catch (error) {
    return error.message.startsWith('LOADING') ? 'not yet' : false;
  } finally {
    client.close();
  }
}

// The server that tests run against: the installed one, or what PARLEY_TEST_REDIS names (see
// tests/servers.sh).
const program = process.env.PARLEY_TEST_REDIS || 'redis-server';

// Starts redis-server. aof: true keeps an append-only file (fsync always, so that what was
// acknowledged is there after a kill); false keeps nothing. encoding: of all words and replies, see
// parseReply. server: a program other than all tests run against. password: of it and of the master that it follows.
// config: the text of its file, or a function of its port; args go before it, and what it changes by itself (CONFIG
// REWRITE, a Sentinel's state) outlives kill(). isSentinel: it is one. tls: {cert, key, ca}: it takes TLS, too, on another
// port, which its URL then names; its own commands stay without. under: where its folder is made.
//
//   redis.port, redis.url         redis://127.0.0.1:PORT/0
//   redis.tlsPort                 rediss://localhost:PORT/0
//   await redis.cmd('HGETALL', k) one command on a lazy connection
//   await redis.info('commandstats') a section of INFO as an object
//   await redis.kill('SIGKILL')   ends it at once, keeps its folder
//   await redis.pause() / resume() SIGSTOP, SIGCONT: there, but silent
//   await redis.restart(words)    kill if needed, start again on the same port and folder, with these arguments more
//   await redis.stop()            ends it and deletes the folder
export async function startRedis({ aof = false, args = [], encoding = 'utf8', server = program, password = '', config, isSentinel = false, tls, env = {}, under = tmpdir() } = {}) {
  const dir = mkdtempSync(join(under, 'parley-redis-'));
  const file = join(dir, 'redis.conf');
  const storing = ['--save', '', '--appendonly', aof ? 'yes' : 'no', '--appendfsync', 'always'];
  const login = password ? ['--requirepass', password, ...(isSentinel ? [] : ['--masterauth', password])] : [];
  let child;
  let client;
  let port;
  let tlsPort;
  let log = '';
  const secure = () => (tls ? ['--tls-port', tlsPort, '--tls-cert-file', tls.cert, '--tls-key-file', tls.key, '--tls-ca-cert-file', tls.ca, '--tls-auth-clients', 'no'] : []);

  function launch(more = []) {
    log = '';
    child = adopt(
      spawn(
        server,
        [
          ...(config === undefined ? [] : [file]),
          ...(isSentinel ? ['--sentinel'] : storing),
          '--port',
          port,
          '--bind',
          '127.0.0.1',
          '--dir',
          dir,
          '--daemonize',
          'no',
          '--loglevel',
          'notice',
          ...login,
          ...secure(),
          ...args,
          ...more,
        ].map(String),
        { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } },
      ),
    );
    child.stdout.on('data', (chunk) => (log += chunk));
    child.stderr.on('data', (chunk) => (log += chunk));
  }

  async function ready() {
    let deadline = Date.now() + STARTUP_MS;
    while (Date.now() < deadline) {
      if (child.exitCode !== null) return false;
      const answer = await answers(port, password, child);
      if (answer === true) return true;
      if (answer === 'not yet') deadline = Date.now() + STARTUP_MS; // its append-only file may be long
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`redis-server does not answer:\n${log}`);
  }

  async function kill(signal = 'SIGKILL') {
    client?.close();
    client = undefined;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGCONT');
      child.kill(signal);
      await exited(child, STARTUP_MS, 'redis-server');
    }
  }

  for (let attempt = 0; ; attempt++) {
    port = await freePort();
    if (tls) tlsPort = await freePort();
    if (config !== undefined) writeFileSync(file, typeof config === 'function' ? await config(port) : config, { mode: 0o600 });
    launch();
    if (await ready()) break;
    if (attempt === 4) throw new Error(`redis-server does not start:\n${log}`);
  }

  const proof = password ? `:${password}@` : '';
  return {
    port,
    tlsPort,
    url: tls ? `rediss://${proof}localhost:${tlsPort}/0` : `redis://${proof}127.0.0.1:${port}/0`,
    get alive() {
      return child.exitCode === null && child.signalCode === null;
    },
    log: () => log,
    cmd(...words) {
      if (client === undefined || client.isClosed) client = new RedisClient(port, encoding, password);
      return client.cmd(...words);
    },
    async info(section) {
      const lines = (await this.cmd('INFO', section)).split('\r\n');
      return Object.fromEntries(
        lines
          .filter((line) => line && !line.startsWith('#'))
          .map((line) => {
            const colon = line.indexOf(':');
            return [line.slice(0, colon), line.slice(colon + 1)];
          }),
      );
    },
    kill,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async restart(more) {
      await kill();
      launch(more);
      if (!(await ready())) throw new Error(`redis-server does not start again:\n${log}`);
    },
    async stop() {
      await kill('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
