// SPDX-License-Identifier: MIT
//
// durations: how long each job took. build/test/durations.tsv has the last runs of this checkout, and tests/run/durations.tsv,
// which is a copy of it, what a clean checkout begins with. They decide on nothing but the order.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export const DURATIONS = 'build/test/durations.tsv';
const SHIPPED = 'tests/run/durations.tsv';
const HEAD = '# job\tseconds\tof processors\ttests';
const UNKNOWN_SECONDS = 8;

function read(path) {
  if (!existsSync(path)) return new Map();
  const rows = readFileSync(path, 'utf8').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => line.split('\t'));
  return new Map(rows.map(([name, ...numbers]) => [name, numbers.map(Number)]));
}

const known = new Map([...read(SHIPPED), ...read(DURATIONS)]);

export const expectedSeconds = (name) => known.get(name)?.[0] ?? UNKNOWN_SECONDS;

// Notes what ran now; what did not run keeps its row.
export function noteDurations(results) {
  const rows = read(DURATIONS);
  for (const { job, seconds, cpuSeconds, passed } of results) rows.set(job.name, [seconds.toFixed(1), (cpuSeconds ?? 0).toFixed(1), passed]);
  writeFileSync(DURATIONS, `${HEAD}\n${[...rows].sort().map(([name, numbers]) => [name, ...numbers].join('\t')).join('\n')}\n`);
}
