// SPDX-License-Identifier: MIT
//
// kept: what takes time to make and many test files need. Each file is a process of its own: the first one leaves it in
// build/test for the others, which may run beside it.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), '../../build/test');

// The text that make() returns, made once for these sources (texts).
export function kept(name, sources, make) {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(source);
  const path = join(FOLDER, `${name}-${hash.digest('hex').slice(0, 16)}`);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const text = make();
  const draft = `${path}.${process.pid}`;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(draft, text);
  renameSync(draft, path);
  return text;
}
