// SPDX-License-Identifier: MIT
//
// queue: runs jobs, some at a time, the longest first, each in a group of processes of its own, which ends with it. What a
// job prints goes to its log, or is shown at once.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { kinds, logOf } from './kinds.mjs';
import { prepare } from './prepare.mjs';

// No job may hang: after this, or after what it says itself, it is interrupted, and killed if that does not end it.
const JOB_MS = 1_200_000;
const KILL_MS = 20_000;

const groups = new Set();

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

// Ends whatever runs, before this process ends.
export function endAll() {
  for (const pid of groups) signalGroup(pid, 'SIGTERM');
}

// Runs a program to its end: {status, signal, output, isLate, seconds}. log: where its output goes; without one it is shown.
export function runProgram(words, { env = {}, log, ms = JOB_MS } = {}) {
  const fd = log ? openSync(log, 'w') : 'inherit';
  const began = performance.now();
  const child = spawn(words[0], words.slice(1), { env: { ...process.env, ...env }, stdio: ['ignore', fd, fd], detached: true });
  if (log) closeSync(fd);
  let isLate = false;
  const timers = [];
  return new Promise((resolve) => {
    const finish = (status, signal, said = '') => {
      timers.forEach(clearTimeout);
      groups.delete(child.pid);
      if (child.pid) signalGroup(child.pid, 'SIGKILL'); // what it left behind
      resolve({ status, signal, isLate, seconds: (performance.now() - began) / 1000, output: `${log ? readFileSync(log, 'utf8') : ''}${said}` });
    };
    child.once('error', (error) => finish(127, null, `${error.message}\n`));
    if (!child.pid) return;
    groups.add(child.pid);
    timers.push(setTimeout(() => {
      isLate = true;
      signalGroup(child.pid, 'SIGINT');
      timers.push(setTimeout(() => signalGroup(child.pid, 'SIGKILL'), KILL_MS));
    }, ms));
    child.once('exit', finish);
  });
}

// Runs one job: {job, passed, failed, skipped, failures, seconds, cpuSeconds, output, note}.
export async function runJob(job, { isShown = false } = {}) {
  const kind = kinds[job.kind];
  const { env, skipped, failed } = await prepare(job);
  if (skipped !== undefined) return { job, passed: 0, failed: 0, skipped: 1, failures: [], seconds: 0, output: '', note: skipped };
  if (failed !== undefined) return { job, passed: 0, failed: 1, skipped: 0, failures: [{ title: job.name, lines: [failed] }], seconds: 0, output: failed };
  const { seconds, output, ...ended } = await runProgram(kind.command(job), {
    env: { ...kind.env?.(job), ...job.env, ...env },
    log: isShown && job.kind === 'node' ? undefined : logOf(job),
    ms: job.limitMs,
  });
  return { job, seconds, output, ...kind.read({ ...ended, output }, job) };
}

// Runs all jobs, as many at a time as fill `slots`, the longest first; one that takes more than are left waits, and none passes it
// by. stateOf(job): 'ready', 'waits' (for a build, until changed() resolves), or 'dropped' (it cannot be built). onEnd(result) is
// called as each ends.
export async function runJobs(jobs, { slots, stateOf, changed, onEnd, isShown }) {
  let waiting = [...jobs].sort((a, b) => b.seconds - a.seconds);
  const running = new Set();
  let free = slots;
  const begin = (job) => {
    free -= job.slots;
    const ended = runJob(job, { isShown }).then((result) => {
      free += job.slots;
      running.delete(ended);
      onEnd(result);
    });
    running.add(ended);
  };
  for (;;) {
    waiting = waiting.filter((job) => stateOf(job) !== 'dropped');
    const i = waiting.findIndex((job) => stateOf(job) === 'ready');
    if (i >= 0 && (waiting[i].slots <= free || running.size === 0)) {
      begin(waiting.splice(i, 1)[0]);
      continue;
    }
    if (waiting.length === 0 && running.size === 0) return;
    await Promise.race([...running, ...(waiting.length > 0 && i < 0 ? [changed()] : [])]);
  }
}
