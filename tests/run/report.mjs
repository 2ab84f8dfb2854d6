// SPDX-License-Identifier: MIT
//
// report: what a run prints: a line for each job as it ends, and at the end the slowest, where the time went, what was
// unsteady, and each failure once more, so that the end of the output is enough to read.
const FAILURES_LINES = 60;
const SLOWEST = 20;

export const say = (text = '') => process.stdout.write(`${text}\n`);
export const heading = (text) => say(`\n== ${text}`);

const secondsOf = (seconds) => `${seconds.toFixed(1)} s`;

export function sayResult({ job, passed, failed, skipped, seconds, output, note }) {
  const counts = [`${passed} passed`, failed ? `${failed} FAILED` : '', skipped ? `${skipped} skipped` : ''].filter(Boolean).join(', ');
  say(`${failed ? 'FAILED' : 'ok    '} ${job.name.padEnd(52)} ${counts}, ${secondsOf(seconds)}${note && !note.includes('\n') ? `: ${note}` : ''}`);
  if (failed) say(output.trimEnd());
}

// All failures whole, or with fewer lines of each, or at last only the first titles.
export function sayFailures(failures) {
  if (failures.length === 0) return;
  heading('failures');
  const depth = Math.max(...failures.map(({ lines }) => lines.length));
  let keep = depth;
  const linesWith = (n) => failures.reduce((sum, { lines }) => sum + 1 + Math.min(n, lines.length), 0);
  while (keep > 0 && linesWith(keep) > FAILURES_LINES) keep--;
  const shown = failures.slice(0, keep > 0 ? undefined : FAILURES_LINES);
  for (const { title, lines } of shown) {
    say(title);
    for (const line of lines.slice(0, keep)) say(`    ${line}`);
  }
  if (shown.length < failures.length) say(`and ${failures.length - shown.length} more`);
}

// Seconds of the slowest jobs, and of all by group. Those of groups are added up over jobs that ran side by side.
export function sayTimes(results, { builds, total, again }) {
  heading(`the ${Math.min(SLOWEST, results.length)} slowest`);
  for (const { job, seconds } of [...results].sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)) say(`${secondsOf(seconds).padStart(9)}  ${job.name}`);
  const groups = new Map();
  for (const { job, seconds } of results) groups.set(job.group, (groups.get(job.group) ?? 0) + seconds);
  const sums = [...groups].sort(([, a], [, b]) => b - a).map(([group, seconds]) => `${group} ${Math.round(seconds)}`);
  say();
  say(`took ${Math.round(total)} s. Builds: ${[...builds].map(([preset, seconds]) => `${preset} ${Math.round(seconds)} s`).join(', ') || 'none'}.` +
    `${again ? ` Second tries: ${Math.round(again)} s.` : ''} Seconds of each group, side by side: ${sums.join(', ')}`);
}
