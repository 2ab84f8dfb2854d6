// SPDX-License-Identifier: MIT
// Loaded before each file of tests: appends the path of a file that fails to the file that FAILED_FILES names. A reporter
// does not learn it: Node reports where a test was declared, which may be in tests/support.
const { appendFileSync } = require('node:fs');
const { relative } = require('node:path');

const { FAILED_FILES } = process.env;
const [, file] = process.argv;
if (FAILED_FILES && file?.endsWith('.test.mjs') && !process.execArgv.includes('--test')) {
  process.on('exit', (status) => {
    if (status !== 0) appendFileSync(FAILED_FILES, `${relative(process.cwd(), file)}\n`);
  });
}
