// SPDX-License-Identifier: MIT
//
// node: one `parley` process: started, watched, stopped. A node that a sanitizer complained about,
// or that does not end with 0 on SIGTERM, fails its test; its log is printed when a test fails.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { adopt, exited } from './redis.mjs';
import { tlsFlags } from './tls.mjs';
import './world.mjs';

export const ROOT = resolvePath(dirname(fileURLToPath(import.meta.url)), '../..');
const STARTUP_MS = 60_000;
const STOP_MS = 60_000;
// How the sanitizers begin a report.
export const SANITIZER = /ERROR: (Address|Leak|Thread)Sanitizer|WARNING: ThreadSanitizer|runtime error:/;

// The executable under test: PARLEY_BIN, or what `./dev build dev` leaves.
export const BIN = process.env.PARLEY_BIN ? resolvePath(process.env.PARLEY_BIN) : join(ROOT, 'build/dev/parley');

// What ships, for tests of what a node costs; PARLEY_BIN stands for both.
export const RELEASE_BIN = process.env.PARLEY_BIN ? BIN : join(ROOT, 'build/release/parley');

// Every account that tests use. Values other than secret and role go into the file as they are.
export const ACCOUNTS = {
  Frontend_1: { secret: '04EMG47U62bjoyL3x', role: 'frontend' },
  Frontend_D: { secret: 'deployed-frontend-secret', role: 'frontend', dialect: 'deployed' },
  Frontend_small: { secret: 'small-frontend-secret', role: 'frontend', max_waiting: 3 },
  Frontend_heavy: { secret: 'heavy-frontend-secret', role: 'frontend', weight: 4 },
  User_1: { secret: '04EMG47U62bjoyL3', role: 'user' },
  User_2: { secret: 'second-user-secret', role: 'user' },
  Inference_1: { secret: '7b18d017f89f61cf17d', role: 'engine' },
  Inference_2: { secret: 'second-engine-secret', role: 'engine' },
  Inference_D: { secret: 'deployed-engine-secret', role: 'engine', dialect: 'deployed' },
  // Takes what a test left in the queue; no test signs with it.
  Sweeper: { secret: 'sweeper-secret', role: 'engine' },
  Operator_1: { secret: 'operator-secret', role: 'operator' },
};

export function accountsYaml(accounts = ACCOUNTS) {
  const lines = Object.entries(accounts).map(([name, { secret, role, ...rest }]) => {
    const more = Object.entries(rest)
      .map(([key, value]) => `, ${key}: ${value}`)
      .join('');
    return `  ${name}: {secret: "${secret}", role: ${role}${more}}`;
  });
  return `accounts:\n${lines.join('\n')}\n`;
}

// A folder for a test's files, deleted by remove().
export function makeFolder() {
  const dir = mkdtempSync(join(tmpdir(), 'parley-test-'));
  return {
    dir,
    file(name, text) {
      const path = join(dir, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

// Writes the accounts file and returns {path, write(accounts | text), remove()}.
export function writeAccounts(accounts = ACCOUNTS) {
  const folder = makeFolder();
  const write = (next) => folder.file('accounts.yaml', typeof next === 'string' ? next : accountsYaml(next));
  return { path: write(accounts), write, remove: folder.remove };
}

// The test's environment without anybody's PARLEY_* settings and login. Clusters have as many shards as world.mjs says.
export function cleanEnvironment(extra) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PARLEY_')));
  env.XDG_CONFIG_HOME = '/nonexistent'; // nobody's login
  if (process.env.PARLEY_TEST_SHARDS) env.PARLEY_SHARDS = process.env.PARLEY_TEST_SHARDS;
  env.ASAN_OPTIONS ??= 'exitcode=99:malloc_context_size=8'; // 30 frames of each allocation take 7 % of all processor time
  env.UBSAN_OPTIONS ??= 'print_stacktrace=1';
  return { ...env, ...extra };
}

// Nothing is kept in the cache folder of who runs the tests.
const NO_CACHE = { HOME: '', XDG_CACHE_HOME: '', CACHE_DIRECTORY: '' };

// Starts `parley <args>` and collects what it prints.
//   process.child, process.stdout, process.stderr, await process.exit(ms) -> {code, signal}
//   limits: flags of prlimit(1) that it runs under; bin: a program other than the one under test
export function startProcess(args, { env = {}, input, cwd, limits, bin = BIN } = {}) {
  const words = [...(limits ? ['prlimit', ...limits] : []), bin, ...args.map(String)];
  const child = adopt(spawn(words[0], words.slice(1), { cwd, env: { ...cleanEnvironment(), ...NO_CACHE, ...env }, stdio: ['pipe', 'pipe', 'pipe'] }));
  const running = { child, stdout: '', stderr: '', watchers: new Set() };
  const closed = new Promise((resolve) => child.once('close', resolve));
  const failed = new Promise((_, reject) => child.once('error', reject));
  failed.catch(() => {});
  const note = () => running.watchers.forEach((watcher) => watcher());
  child.stdout.on('data', (chunk) => {
    running.stdout += chunk;
    note();
  });
  child.stderr.on('data', (chunk) => {
    running.stderr += chunk;
    note();
  });
  child.once('exit', note);
  child.stdin.on('error', () => {});
  if (input !== null) child.stdin.end(input); // null: its test writes
  running.exit = async (ms = STOP_MS) => {
    const end = await Promise.race([exited(child, ms, `parley ${args[0]}`), failed]);
    await closed;
    return end;
  };
  running.failed = failed;
  return running;
}

// Runs `parley <args>` to its end. Resolves with {code, signal, stdout, stderr}.
export async function runParley(args, options = {}) {
  const running = startProcess(args, options);
  const { code, signal } = await running.exit(options.timeout ?? STOP_MS);
  return { code, signal, stdout: running.stdout, stderr: running.stderr };
}

// Resolves once condition(running) is truthy, with its value; looks again at each output.
export function waitForOutput(running, condition, ms, what) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => finish(reject, new Error(`${what}: not seen in ${ms} ms:\n${running.stdout}${running.stderr}`)),
      ms,
    );
    const finish = (settle, value) => {
      clearTimeout(timer);
      running.watchers.delete(look);
      settle(value);
    };
    const look = () => {
      const value = condition(running);
      if (value) finish(resolve, value);
      else if (running.child.exitCode !== null || running.child.signalCode !== null) {
        finish(
          reject,
          new Error(
            `${what}: the process ended first (${running.child.exitCode ?? running.child.signalCode}):\n${running.stderr}`,
          ),
        );
      }
    };
    running.failed.catch((error) => finish(reject, error));
    running.watchers.add(look);
    look();
  });
}

// Starts a node and resolves once it says that it listens.
//
//   node.url                     http://127.0.0.1:PORT
//   node.log()                   what it wrote to standard error so far
//   node.signal('SIGHUP')
//   await node.stop()            SIGTERM; anything but exit 0 within its drain time rejects
//   await node.kill('SIGKILL')   ends it the hard way; its log is still looked at
//   node.check()                 throws if a sanitizer spoke
export async function startNode({ redis, accounts, args = [], env = {}, listen = '127.0.0.1:0', threads = 1, limits, bin }) {
  const running = startProcess(
    ['serve', '--target=all', '--listen', listen, '--redis', redis.url, '--accounts', accounts, '--threads', threads, ...tlsFlags(listen), ...args],
    { env, limits, bin },
  );
  const line = await waitForOutput(
    running,
    ({ stdout }) => /^parley: listening on (\S+)$/m.exec(stdout),
    STARTUP_MS,
    'the line "parley: listening on"',
  ).catch((error) => {
    running.child.kill('SIGKILL');
    throw error;
  });
  const node = {
    url: line[1],
    child: running.child,
    get alive() {
      return running.child.exitCode === null && running.child.signalCode === null;
    },
    stdout: () => running.stdout,
    log: () => running.stderr,
    waitForLog: (pattern, ms = 30_000) => waitForOutput(running, ({ stderr }) => pattern.exec(stderr), ms, `log line ${pattern}`),
    signal: (name) => running.child.kill(name),
    check() {
      if (SANITIZER.test(running.stderr))
        throw new Error(`a sanitizer spoke:\n${running.stderr.slice(running.stderr.search(SANITIZER))}`);
    },
    // The process ends by itself (after a signal): {code, signal}.
    exited: (ms) => running.exit(ms),
    async stop(ms = STOP_MS) {
      if (node.alive) running.child.kill('SIGTERM');
      const { code, signal } = await running.exit(ms);
      node.check();
      if (!node.killed && code !== 0) throw new Error(`the node ended with ${code ?? signal} on SIGTERM:\n${running.stderr}`);
    },
    async kill(signal = 'SIGKILL') {
      node.killed = true;
      running.child.kill(signal);
      await running.exit();
      node.check();
    },
  };
  return node;
}
