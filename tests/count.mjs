// SPDX-License-Identifier: MIT
// A reporter for Node's test runner that writes one line, `passed failed skipped`, counting single
// tests: suites are not tests, and a file in which no test ran is a failure. Each failure is appended
// to the file that FAILURES names when it is reported, as run.sh lists them at its end: a line
// `group: file:line: suite > test`, and the first lines of its error, indented. If the runner is
// interrupted, the tests that have not ended are listed as well. Node 18 and 20.
import {appendFileSync} from 'node:fs';
import {basename, relative} from 'node:path';
import {fileURLToPath} from 'node:url';

const ERROR_LINES = 6;
const ERROR_COLUMNS = 160;
const STDERR_LINES = 40;

const group = process.env.FAILURES_GROUP ?? 'tests';

// Node 18 reports some files as URLs.
const path = (file) => relative('.', file?.startsWith('file:') ? fileURLToPath(file) : (file ?? '?'));

const isFile = (data) => data.name.endsWith('.mjs') && (!data.file || basename(data.file) === basename(data.name));

// A failure that follows from another, which is listed: of a test inside, or of the suite before this test began.
const isOther = (data, error) => error?.failureType === 'subtestsFailed' ||
    (error?.failureType === 'cancelledByParent' && data.nesting > 0 && !(data.details.duration_ms > 0));

function list(title, lines) {
    if (!process.env.FAILURES) return;
    const shown = lines.filter((line) => line.trim() !== '').slice(0, ERROR_LINES);
    const text = [`${group}: ${title}`, ...shown.map((line) => `    ${line}`)];
    appendFileSync(process.env.FAILURES, text.map((line) => `${line.slice(0, ERROR_COLUMNS)}\n`).join(''));
}

// The first lines of what was thrown, and the first place in tests/ on its stack.
function errorLines(error) {
    const cause = error?.cause ?? error;
    const lines = String(cause?.message ?? cause).split('\n').filter((line) => line.trim() !== '');
    const differences = lines.filter((line, i) => i > 0 && /^ *[+-] (?!actual)/.test(line)); // of deepEqual, rather than what is around
    const message = differences.length > 0 ? [lines[0], ...differences] : lines;
    const place = /\(?(?:file:\/\/)?(\/[^\s()]*\.mjs:\d+):\d+\)?/.exec(cause?.stack ?? '')?.[1];
    return [...message.slice(0, ERROR_LINES - 1), ...(place ? [`at ${path(place)}`] : [])];
}

// A file that failed as a whole says why on stderr: the line that names an error, and where it was.
function fileLines(error, stderr = []) {
    const lines = stderr.filter((line) => !/^\s+at .*node:internal/.test(line));
    const from = lines.findIndex((line) => /^\S*(Error|FATAL)\b/.test(line));
    return [`the file ended with ${error?.signal ?? `status ${error?.exitCode}`}`, ...lines.slice(from < 0 ? -ERROR_LINES : from)];
}

export default async function* count(source) {
    const n = {passed: 0, failed: 0, skipped: 0};
    const names = new Map();   // of each file: the name of the test that was reported last, after those of its suites
    const running = new Map(); // of each file: its tests that have begun and not ended
    const stderr = new Map();  // of each file: its last lines
    let hasEnded = false;

    // process.exit() in the runner's handler of SIGINT leaves no other moment.
    process.on('exit', () => {
        if (hasEnded) return;
        for (const [file, tests] of [...running].sort()) {
            if (tests.size > 0) list(`${file}: ${[...tests].at(-1)}`, ['had not ended when the runner was interrupted']);
        }
    });
    for await (const {type, data} of source) {
        const file = path(data.file ?? data.name);
        if (type === 'test:stderr') {
            const lines = [...(stderr.get(file) ?? []), ...data.message.split('\n')];
            stderr.set(file, lines.slice(-STDERR_LINES));
        }
        if (type === 'test:start') names.set(file, [...(names.get(file) ?? []).slice(0, data.nesting), data.name]);
        if (type === 'test:dequeue' && !isFile(data)) {
            if (!running.has(file)) running.set(file, new Set());
            running.get(file).add(data.name);
        }
        if (type !== 'test:pass' && type !== 'test:fail') continue;
        running.get(file)?.delete(data.name);
        const error = data.details?.error;
        const isSuite = data.details?.type === 'suite';
        if (type === 'test:fail' && data.skip === undefined && data.todo === undefined && !isOther(data, error)) {
            if (isFile(data)) list(file, fileLines(error, stderr.get(file)));
            else list(`${file}:${data.line ?? '?'}: ${[...(names.get(file) ?? []).slice(0, data.nesting), data.name].join(' > ')}`, errorLines(error));
        } else if (type === 'test:pass' && isFile(data)) list(file, ['no test ran in this file']);
        if (isSuite) continue;
        if (data.skip !== undefined || data.todo !== undefined) n.skipped++;
        else if (type === 'test:fail' || isFile(data)) n.failed++;
        else n.passed++;
    }
    hasEnded = true;
    yield `${n.passed} ${n.failed} ${n.skipped}\n`;
}
