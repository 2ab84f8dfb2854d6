// SPDX-License-Identifier: MIT
//
// seeds: of tests that run random verbs. PARLEY_SEED=N runs that one alone. CI judges a change, so what it runs is the same
// each time; elsewhere one more seed is drawn.
import { randomInt } from 'node:crypto';

const given = process.env.PARLEY_SEED;

// 1 to `n`, and a drawn one.
export const seedsTo = (n) =>
  given ? [Number(given)] : [...Array.from({ length: n }, (_, i) => i + 1), ...(process.env.CI ? [] : [randomInt(1e9)])];

// One of them.
export const oneSeed = () => seedsTo(1).at(-1);
