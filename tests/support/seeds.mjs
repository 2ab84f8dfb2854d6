// SPDX-License-Identifier: MIT
//
// seeds: of tests that run random verbs. PARLEY_SEED=N runs that one alone. CI judges a change, so what it runs is the same
// each time; elsewhere one more seed is drawn. On a server other than the installed one (PARLEY_TEST_REDIS) the first seed
// shows what depends on the server.
import { randomInt } from 'node:crypto';

const given = process.env.PARLEY_SEED;

// 1 to `n`, and a drawn one.
export function seedsTo(n) {
  if (given) return [Number(given)];
  const fixed = Array.from({ length: process.env.PARLEY_TEST_REDIS ? 1 : n }, (_, i) => i + 1);
  return process.env.CI ? fixed : [...fixed, randomInt(1e9)];
}

// One of them.
export const oneSeed = () => seedsTo(1).at(-1);

// Numbers from 0 to below n, the same for the same seed.
export function drawFrom(seed) {
  let x = seed >>> 0 || 1;
  return (n) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) % n;
  };
}
