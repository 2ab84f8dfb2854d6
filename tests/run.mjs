#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// run: what `./dev test` and `./dev fuzz` run; `./dev help` has the words. The last line is `N passed, N failed`, and above it
// each failure is listed once more. What names no test is a failure, so that an empty run can never look green.
//
// Files run side by side, and most of them wait most of the time: for leases, for processes that start, for deadlines. A whole
// run that ends with few failures repeats these files alone: what passes then is listed as unsteady and does not fail the
// run. It depends on the load of the machine, which is a fault to mend.
import { mkdirSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Builds } from './run/builds.mjs';
import { keepFound } from './run/corpus.mjs';
import { noteDurations } from './run/durations.mjs';
import { OUT } from './run/kinds.mjs';
import { fuzzJob, namesIn, planOf, shortRun } from './run/plan.mjs';
import { endAll, runJob, runJobs } from './run/queue.mjs';
import { heading, say, sayFailures, sayResult, sayTimes } from './run/report.mjs';

const JOBS_PER_CORE = 4;
const AGAIN_MAX = 4;
const CORES = availableParallelism?.() ?? cpus().length;

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
process.env.LC_ALL = 'C.UTF-8';

const results = [];
const failures = []; // of builds, and of words that name nothing
const buildSeconds = new Map();

const sum = (member) => results.reduce((n, result) => n + result[member], 0);

function fail(title, lines = []) {
  say(`FAILED: ${title}`);
  failures.push({ title, lines });
}

// {jobs, isWhole, slots} from the words.
function read(words) {
  if (words[0] === '--fuzz') {
    const keeps = words.includes('--keep');
    const given = words.slice(1).filter((word) => word !== '--keep');
    const seconds = Number(given.find((word) => /^\d+$/.test(word)) ?? 60);
    const name = given.find((word) => !/^\d+$/.test(word))?.replace(/^fuzz_/, '');
    const jobs = namesIn('fuzz', 'fuzz_').filter((known) => name === undefined || known === name).map((known) => fuzzJob(known, seconds));
    if (jobs.length === 0) fail(`fuzz: there is no tests/fuzz/fuzz_${name}.c`);
    return { jobs, keeps, slots: CORES };
  }
  let pattern;
  const names = [];
  for (let i = 0; i < words.length; i++) {
    if (words[i] === '--name') pattern = words[++i] ?? '';
    else names.push(words[i]);
  }
  if (pattern === '') fail('--name needs a pattern');
  const isWhole = words.length === 0 || names.includes('nightly');
  const { jobs, unknown } = words.length === 0 ? shortRun() : planOf(names);
  for (const line of unknown) fail(line);
  return { jobs: pattern ? jobs.map((job) => ({ ...job, pattern })) : jobs, pattern, isWhole, slots: CORES * JOBS_PER_CORE };
}

// Repeats what failed, alone, and takes back what passes. Returns the seconds that it took.
async function tryAgain() {
  const wrong = results.filter(({ failed, job }) => failed > 0 && job.kind === 'node');
  if (wrong.length === 0 || wrong.length > AGAIN_MAX) return 0;
  const began = performance.now();
  const unsteady = [];
  for (const first of wrong) {
    heading(`once more: ${first.job.name}`);
    const second = await runJob(first.job);
    sayResult(second);
    if (second.failed > 0) continue;
    unsteady.push(first);
    results[results.indexOf(first)] = second;
  }
  if (unsteady.length > 0) {
    heading('unsteady: failed beside others, passed alone');
    for (const { title, lines } of unsteady.flatMap((result) => result.failures)) say([title, ...lines.map((line) => `    ${line}`)].join('\n'));
  }
  return (performance.now() - began) / 1000;
}

async function main(words) {
  mkdirSync(OUT, { recursive: true });
  const { jobs, keeps, pattern, isWhole, slots } = read(words);
  const builds = new Builds(jobs);
  const building = builds.run(({ preset, seconds, failure, output }) => {
    buildSeconds.set(preset, seconds);
    say(`${failure ? 'FAILED' : 'ok    '} the build ${preset}, ${seconds.toFixed(1)} s`);
    if (!failure) return;
    say(output.trimEnd().split('\n').slice(-40).join('\n'));
    failures.push(failure);
  });
  const isShown = jobs.length === 1;
  await runJobs(jobs, {
    slots,
    isShown,
    stateOf: builds.stateOf,
    changed: builds.changed,
    onEnd(result) {
      results.push(result);
      if (!isShown || result.job.kind !== 'node') sayResult(result);
    },
  });
  await building;
  if (keeps) for (const { job } of results.filter(({ failed }) => failed === 0)) say(`${job.fuzzName}: kept ${keepFound(job.fuzzName)} inputs`);
  const again = isWhole ? await tryAgain() : 0;
  if (results.length > 0) noteDurations(results);
  if (results.length > 1) sayTimes(results, { builds: buildSeconds, total: process.uptime(), again });
  say();
  const [passed, failed, skipped] = [sum('passed'), sum('failed') + failures.length, sum('skipped')];
  if (passed + failed === 0) say(pattern ? `no test has a name that matches '${pattern}'` : 'no test ran');
  sayFailures([...failures, ...results.flatMap((result) => result.failures.map(({ title, lines }) => ({ title: `${result.job.group}: ${title}`, lines })))]);
  if (skipped > 0) say(`${skipped} skipped`);
  say(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    endAll();
    process.exit(130);
  });
}

await main(process.argv.slice(2));
