// SPDX-License-Identifier: MIT
//
// builds: the presets that jobs need, one after another: what most of them wait for first. Jobs begin as soon as theirs is
// built.
import { join } from 'node:path';
import { OUT } from './kinds.mjs';
import { runProgram } from './queue.mjs';

const ORDER = ['dev', 'release', 'fuzz'];
const ERROR_LINES = 6;
const BUILD_MS = 1_800_000;

function failureOf(preset, output) {
  const lines = output.trimEnd().split('\n');
  const errors = lines.filter((line) => /error|undefined reference|^CMake Error|^dev: /.test(line));
  return { title: `the build (${preset})`, lines: (errors.length > 0 ? errors : lines.slice(-ERROR_LINES)).slice(0, ERROR_LINES) };
}

export class Builds {
  #wake;
  #changed;
  #ended = new Map(); // preset: did it succeed?

  constructor(jobs) {
    this.targets = new Map(ORDER.map((preset) => [preset, new Set(jobs.flatMap(({ builds }) => builds[preset] ?? []))]).filter(([, targets]) => targets.size > 0));
    this.#wait();
  }

  #wait() {
    this.#changed = new Promise((resolve) => (this.#wake = resolve));
  }

  // Resolves when the next build has ended.
  changed = () => this.#changed;

  stateOf = ({ builds }) => {
    const ends = Object.keys(builds).map((preset) => this.#ended.get(preset));
    if (ends.includes(false)) return 'dropped';
    return ends.includes(undefined) ? 'waits' : 'ready';
  };

  // Builds all. onEnd({preset, seconds, failure}) is called as each ends.
  async run(onEnd) {
    for (const [preset, targets] of this.targets) {
      const { status, seconds, output } = await runProgram(['./dev', 'build', preset, ...targets], { log: join(OUT, `build-${preset}.log`), ms: BUILD_MS });
      this.#ended.set(preset, status === 0);
      onEnd({ preset, seconds, failure: status === 0 ? undefined : failureOf(preset, output), output });
      this.#wake();
      this.#wait();
    }
  }
}
