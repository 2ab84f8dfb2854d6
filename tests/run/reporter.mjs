// SPDX-License-Identifier: MIT
//
// reporter: runs in the process of a test file and writes to TEST_REPORT, when that ends, what happened: single tests that passed,
// failed and were skipped, and each failure with its place, `suite > test` and the first lines of its error. Tests that had not
// ended are failures, too. Node 18 and 20.
import { writeFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const ERROR_LINES = 6;
const TICKS_PER_SECOND = 100; // of /proc, on every Linux

const testFile = relative('.', process.argv[1] ?? '');

// Node 18 reports some files as URLs.
const pathOf = (file) => relative('.', file?.startsWith('file:') ? new URL(file).pathname : (file ?? ''));

// A failure that follows from another, which is reported: of a test inside, or of the suite before this test began.
const isOther = (data, error) =>
  error?.failureType === 'subtestsFailed' || (error?.failureType === 'cancelledByParent' && data.nesting > 0 && !(data.details.duration_ms > 0));

// The first lines of what was thrown, and the first place in tests/ on its stack.
function errorLines(error) {
  const cause = error?.cause ?? error;
  const lines = String(cause?.message ?? cause).split('\n').filter((line) => line.trim() !== '');
  const differences = lines.filter((line, i) => i > 0 && /^ *[+-] (?!actual)/.test(line)); // of deepEqual, rather than what is around
  const message = differences.length > 0 ? [lines[0], ...differences] : lines;
  const place = /\(?(?:file:\/\/)?(\/[^\s()]*\.mjs:\d+):\d+\)?/.exec(cause?.stack ?? '')?.[1];
  return [...message.slice(0, ERROR_LINES - 1), ...(place ? [`at ${pathOf(place)}`] : [])];
}

// Of this process and of those that it has started and that have ended.
function cpuSeconds() {
  const ticks = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ').slice(11, 15);
  return ticks.reduce((sum, n) => sum + Number(n), 0) / TICKS_PER_SECOND;
}

export default async function* report(source) {
  const n = { passed: 0, failed: 0, skipped: 0 };
  const failures = [];
  const running = new Set(); // names of tests that have begun
  let names = []; // of the test that was reported last, after those of its suites
  let hasEnded = false;
  const titleOf = (data, name) => `${testFile}${pathOf(data.file) === testFile && data.line ? `:${data.line}` : ''}: ${name}`;

  // process.exit() leaves no other moment.
  process.on('exit', () => {
    if (!process.env.TEST_REPORT) return;
    const late = hasEnded || running.size === 0 ? [] : [{ title: `${testFile}: ${[...running].at(-1)}`, lines: ['had not ended when the file was interrupted'] }];
    writeFileSync(process.env.TEST_REPORT, JSON.stringify({ ...n, failed: n.failed + late.length, failures: [...failures, ...late], cpuSeconds: cpuSeconds() }));
  });
  for await (const { type, data } of source) {
    if (type === 'test:start') names = [...names.slice(0, data.nesting), data.name];
    if (type === 'test:dequeue') running.add(data.name);
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    running.delete(data.name);
    const error = data.details?.error;
    const isOff = data.skip !== undefined || data.todo !== undefined;
    if (type === 'test:fail' && !isOff && !isOther(data, error)) {
      failures.push({ title: titleOf(data, [...names.slice(0, data.nesting), data.name].join(' > ')), lines: errorLines(error) });
    }
    if (data.details?.type === 'suite') continue;
    if (isOff) n.skipped++;
    else if (type === 'test:fail') n.failed++;
    else n.passed++;
  }
  hasEnded = true;
}
