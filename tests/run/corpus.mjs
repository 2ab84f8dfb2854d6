// SPDX-License-Identifier: MIT
//
// corpus: the inputs of fuzz targets. tests/fuzz/corpus/NAME has those that people wrote, NAME.hex what libFuzzer found, an
// input on each line, and build/fuzz/corpus/NAME what it works with: the lines of NAME.hex, and what it has found since.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const KEPT_MAX_BYTES = 400; // longer inputs are for the folder of a target
const MERGE_MS = 300_000;

const written = (name) => join('tests/fuzz/corpus', name);
const kept = (name) => join('tests/fuzz/corpus', `${name}.hex`);
const found = (name) => join('build/fuzz/corpus', name);
const folderOf = (dir) => (existsSync(dir) ? [dir] : []);

// The files to give to the program that repeats inputs (replay.c).
export function inputsOf(name) {
  const files = folderOf(written(name)).flatMap((dir) => readdirSync(dir).map((file) => join(dir, file)));
  return existsSync(kept(name)) ? [...files, kept(name)] : files;
}

// The folders to give to libFuzzer; it writes to the first.
export function foldersOf(name) {
  mkdirSync(found(name), { recursive: true });
  if (existsSync(kept(name))) {
    for (const line of readFileSync(kept(name), 'utf8').split('\n').filter(Boolean)) {
      const bytes = Buffer.from(line, 'hex');
      const path = join(found(name), createHash('sha1').update(bytes).digest('hex')); // as libFuzzer names it
      if (!existsSync(path)) writeFileSync(path, bytes);
    }
  }
  return [found(name), ...folderOf(written(name))];
}

// Writes to NAME.hex the smallest set of inputs with the coverage of all that exist. Returns how many.
export function keepFound(name) {
  const merged = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
  try {
    const words = ['-merge=1', `-max_len=${KEPT_MAX_BYTES}`, merged, ...foldersOf(name)];
    const { status, stderr } = spawnSync(join('build/fuzz', `fuzz_${name}`), words, { encoding: 'utf8', timeout: MERGE_MS });
    if (status !== 0) throw new Error(`the inputs of ${name} could not be merged:\n${stderr.slice(-2000)}`);
    const lines = readdirSync(merged).map((file) => readFileSync(join(merged, file)).toString('hex')).filter(Boolean).sort();
    if (lines.length > 0) writeFileSync(kept(name), `${lines.join('\n')}\n`);
    return lines.length;
  } finally {
    rmSync(merged, { recursive: true, force: true });
  }
}
