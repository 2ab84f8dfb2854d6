// SPDX-License-Identifier: MIT
//
// kinds: how the jobs of each kind are run, and what their output says.
//
//   command(job)            the words to run
//   env(job)                variables, besides the job's own
//   read(result, job)       {passed, failed, skipped, failures} of a process that has ended: result is {status, signal, output,
//                           isLate, note}. A failure is {title, lines}
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { foldersOf, inputsOf } from './corpus.mjs';

export const OUT = 'build/test';
const ERROR_LINES = 6;
const ERROR_COLUMNS = 160;
const SANITIZER = /runtime error: |^SUMMARY: |ERROR: \w*Sanitizer|[Aa]ssertion/;

const first = (lines) => lines.filter((line) => line.trim() !== '').slice(0, ERROR_LINES).map((line) => line.slice(0, ERROR_COLUMNS));
const last = (output) => first(output.trimEnd().split('\n').slice(-ERROR_LINES));
const ended = ({ status, signal, isLate }) => (isLate ? 'did not end in time' : `ended with ${signal ?? `status ${status}`}`);
const one = (title, lines = []) => ({ passed: 0, failed: 1, skipped: 0, failures: [{ title, lines: first(lines) }] });
const fileName = (job) => job.name.replace(/[^\w.-]+/g, '-');
export const logOf = (job) => join(OUT, `${fileName(job)}.log`);
const reportOf = (job) => join(OUT, `${fileName(job)}.json`);

// cmocka says how many tests passed; of a program that died it says nothing.
function readUnit(result, job) {
  const failures = [];
  let found = [];
  let running = '';
  let isOver = false;
  for (const line of result.output.split('\n')) {
    const [, begun] = /^\[ RUN {6}\] (\S+)/.exec(line) ?? [];
    const [, bad] = /^\[ {2}FAILED {2}\] (\S+)/.exec(line) ?? [];
    const [, said] = /^\[ {2}(?:ERROR {3}| LINE {3})\] (?:--- )?(.*)/.exec(line) ?? [];
    if (/^\[=+\] Running/.test(line)) isOver = false;
    if (/^\[=+\] \d+ test\(s\) run/.test(line)) isOver = true;
    if (begun) [running, found] = [begun, []];
    if (said || SANITIZER.test(line)) found.push(said ?? line);
    if (bad && !isOver) {
      failures.push({ title: `${job.file}: ${bad}`, lines: first(found) });
      [running, found] = ['', []];
    }
  }
  const passed = [...result.output.matchAll(/^\[ {2}PASSED {2}\] (\d+) test/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
  const skipped = [...result.output.matchAll(/^\[ {2}SKIPPED \] (\d+) test/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
  if (failures.length === 0 && (result.status !== 0 || passed + skipped === 0)) {
    failures.push({ title: job.file, lines: first([...found, `${ended(result)}${running ? ` in ${running}` : ', no test began'}`]) });
  }
  return { passed, failed: failures.length, skipped, failures };
}

// What the reporter wrote (reporter.mjs). A file that fails as a whole says why on stderr: the line that names an error.
function readNode(result, job) {
  const path = reportOf(job);
  const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { passed: 0, failed: 0, skipped: 0, failures: [] };
  const { passed, failed, skipped, failures, cpuSeconds } = report;
  const isWrong = result.status !== 0 || result.isLate;
  if ((isWrong && failures.length === 0) || (passed + failed + skipped === 0 && !job.pattern)) {
    const lines = result.output.split('\n').filter((line) => !/^\s+at .*node:internal/.test(line));
    const from = lines.findIndex((line) => /^\S*(Error|FATAL)\b/.test(line));
    failures.push({ title: job.file, lines: first([isWrong ? `the file ${ended(result)}` : 'no test ran in this file', ...lines.slice(from < 0 ? -ERROR_LINES : from)]) });
  }
  return { passed, failed: Math.max(failed, failures.length), skipped, failures, cpuSeconds };
}

function readFuzz(result, job) {
  if (result.status === 0) return { passed: 1, failed: 0, skipped: 0, failures: [] };
  const lines = result.output.split('\n').filter((line) => /runtime error: |ERROR: |SUMMARY: |^Base64: |^replay: | in .* \/.*\/(shared|services|tests)\//.test(line));
  return one(`${job.file}${job.kind === 'fuzz' ? `; its input is var/fuzz/${job.fuzzName}-*` : ''}`, [ended(result), ...(lines.length ? lines : last(result.output))]);
}

export const kinds = {
  lint: {
    command: (job) => ['tests/lint/run.sh', job.file],
    read: (result, job) => {
      if (result.status !== 0) return one(`lint: ${job.file}`, result.output.split('\n'));
      const isSkipped = new RegExp(`^${job.file}: skipped`, 'm').test(result.output);
      return { passed: isSkipped ? 0 : 1, failed: 0, skipped: isSkipped ? 1 : 0, failures: [], note: result.output.trim() };
    },
  },
  unit: {
    command: (job) => [join('build/dev', basename(job.file, '.c'))],
    read: readUnit,
  },
  // Each input that is kept for a fuzz target once, in the build of the tests.
  replay: {
    command: (job) => [join('build/dev', basename(job.file, '.c')), ...inputsOf(job.fuzzName)],
    read: readFuzz,
  },
  // What it finds new stays in build/fuzz/corpus, what crashes it goes to var/fuzz/NAME-*.
  fuzz: {
    command: (job) => {
      const { fuzzName: name, fuzzSeconds: seconds } = job;
      mkdirSync('var/fuzz', { recursive: true });
      // They use all that they get, and tests beside them wait for processes.
      return ['nice', '-n', '10', join('build/fuzz', `fuzz_${name}`), `-max_total_time=${seconds}`, '-timeout=30', '-rss_limit_mb=2048', '-print_final_stats=1',
        `-artifact_prefix=var/fuzz/${name}-`, ...foldersOf(name)];
    },
    env: () => ({ UBSAN_OPTIONS: 'print_stacktrace=1' }),
    read: (result, job) => {
      const [, n] = /^stat::number_of_executed_units: *(\d+)/m.exec(result.output) ?? [];
      return { ...readFuzz(result, job), note: n && `${n} inputs` };
    },
  },
  node: {
    command: (job) => {
      rmSync(reportOf(job), { force: true });
      return [process.execPath, ...(job.pattern ? [`--test-name-pattern=${job.pattern}`] : []), '--test-reporter=spec', '--test-reporter-destination=stdout',
        '--test-reporter=./tests/run/reporter.mjs', '--test-reporter-destination=stderr', job.file];
    },
    env: (job) => ({ TEST_REPORT: resolve(reportOf(job)) }),
    read: readNode,
  },
  // Prints `ok - what it showed`, ends at the first thing that is wrong with `not ok - what` and what it found on the lines
  // below, and exits 3 with a line that says why where it cannot run.
  script: {
    command: (job) => [resolve(job.file)],
    read: (result, job) => {
      const passed = (result.output.match(/^ok - /gm) ?? []).length;
      if (result.status === 3) return { passed, failed: 0, skipped: 1, failures: [] };
      const [, what] = /^not ok - (.*)/m.exec(result.output) ?? [];
      if (result.status !== 0) {
        const below = what ? result.output.slice(result.output.indexOf(`not ok - ${what}`)).split('\n').slice(1) : last(result.output);
        return { ...one(`${job.file}: ${what ?? ended(result)}`, below), passed };
      }
      return passed > 0 ? { passed, failed: 0, skipped: 0, failures: [] } : one(`${job.file} showed nothing`);
    },
  },
};
