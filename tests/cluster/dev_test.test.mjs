// SPDX-License-Identifier: MIT
//
// `./dev test` in a project of a few lines: what it prints and returns when files fail, crash, hang up or are empty.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BIN, cleanEnvironment, makeFolder, ROOT } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { otherShards, worldOf } from '../support/world.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

const small = (body) => `import assert from 'node:assert/strict';\nimport { describe, it } from 'node:test';\n${body}\n`;
const passes = small("it('passes', () => {});");
// Fails the first time, and leaves a file beside it.
const once = small(`import { existsSync, writeFileSync } from 'node:fs';
it('is unsteady', () => { if (!existsSync('again')) { writeFileSync('again', ''); assert.fail('the machine was slow'); } });`);
const FILES = {
  'CMakeLists.txt': `cmake_minimum_required(VERSION 3.22)
project(small C)
add_executable(parley test.c)
add_executable(test_good test.c)
add_executable(test_bad test_bad.c)
add_executable(test_dead test_dead.c)
add_executable(fuzz_one test.c)
`,
  'test.c': '#include <stdio.h>\nint main(void) { puts("[  PASSED  ] 2 test(s)."); }\n',
  'test_bad.c': `#include <stdio.h>
int main(void)
{
    puts("[==========] Running 2 test(s).\\n[ RUN      ] adds_up\\n[  ERROR   ] --- 1 != 2\\n[   LINE   ] --- a.c:7: error: Failure!\\n[  FAILED  ] adds_up");
    puts("[ RUN      ] holds\\n[       OK ] holds\\n[==========] 2 test(s) run.\\n[  PASSED  ] 1 test(s).\\n[  FAILED  ] 1 test(s), listed below:\\n[  FAILED  ] adds_up");
    return 1;
}
`,
  'test_dead.c': '#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n    puts("[ RUN      ] ends_early");\n    fflush(stdout);\n    abort();\n}\n',
  'tests/unit/test_good.c': '',
  'tests/unit/test_bad.c': '',
  'tests/unit/test_dead.c': '',
  'tests/fuzz/fuzz_one.c': '',
  'tests/lint/run.sh': '#!/bin/sh\ncase $1 in --quick) echo spelling tidiness ;; --slow) ;; spelling) echo "spelling: no finding" ;; *) echo "$1: skipped, no tool" ;; esac\n',
  'tests/lua/passes.test.mjs': passes,
  'tests/documents/passes.test.mjs': passes,
  'tests/workflow/passes.test.mjs': passes,
  'tests/bots/passes.test.mjs': passes,
  'tests/web/passes.test.mjs': passes,
  'tests/cluster/once.test.mjs': once,
  'tests/http/fails.test.mjs': small("describe('a suite', () => { it('adds up', () => assert.equal(1, 2, 'one is not two')); it('holds', () => {}); it.skip('waits', () => {}); });"),
  'tests/http/crashes.test.mjs': small("import('nowhere');"),
  'tests/http/empty.test.mjs': '',
  'tests/http/killed.test.mjs': small("it('is killed', () => process.kill(process.pid, 'SIGKILL'));"),
  'tests/http/leaves.test.mjs': small("import { spawn } from 'node:child_process';\nit('leaves a program', () => console.log(`left ${spawn('sleep', ['31536'], { stdio: 'ignore' }).unref() ?? ''}`));"),
  'tests/package-lock.json': '{}',
  'tests/node_modules/.installed-lock': '{}',
  'services/web/app/package-lock.json': '{}',
  'services/web/app/node_modules/.installed-lock': '{}',
};

describe('./dev test in a small project', { timeout: 900_000 }, () => {
  const folder = makeFolder();
  const home = join(folder.dir, 'home');
  before(() => {
    for (const [name, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), text, { mode: 0o755 });
    }
    for (const name of ['dev', 'tests/run.mjs', 'tests/run', 'tests/support/world.mjs', 'CMakePresets.json']) cpSync(join(ROOT, name), join(home, name), { recursive: true });
    symlinkSync(join(ROOT, 'cmake'), join(home, 'cmake'));
  });
  after(() => folder.remove());

  function test(...words) {
    const { status, stdout, stderr } = spawnSync(join(home, 'dev'), ['test', ...words], { cwd: home, env: cleanEnvironment({ PARLEY_BIN: BIN }), encoding: 'utf8', timeout: 250_000 });
    return { status, lines: stdout.split('\n'), text: stdout + stderr };
  }
  const failuresIn = (text) => text.split('== failures\n')[1].trimEnd().split('\n');

  it('a run that passes ends with 0 and the sum', () => {
    const { status, lines, text } = test('lua', 'documents', 'lint');
    assert.deepEqual([status, lines.at(-2), lines.at(-3)], [0, '3 passed, 0 failed', '1 skipped'], text);
  });

  it('each failure is listed at the end, with its place and the first lines of its error', () => {
    const { status, text } = test('tests/http/fails.test.mjs', 'tests/http/crashes.test.mjs', 'tests/http/empty.test.mjs', 'tests/http/killed.test.mjs', 'unit', 'tests/http/none.test.mjs');
    assert.equal(status, 1, text);
    const listed = failuresIn(text);
    const below = (title) => listed.slice(listed.indexOf(title) + 1).findIndex((line) => !line.startsWith('    '));
    const linesOf = (title) => listed.slice(listed.indexOf(title) + 1, listed.indexOf(title) + 1 + below(title)).map((line) => line.trim());
    assert.ok(linesOf('http: tests/http/fails.test.mjs:3: a suite > adds up').includes('one is not two'), text);
    assert.ok(linesOf('http: tests/http/crashes.test.mjs').some((line) => line.includes('nowhere')), text);
    assert.deepEqual(linesOf('http: tests/http/empty.test.mjs'), ['no test ran in this file'], text);
    assert.deepEqual(linesOf('http: tests/http/killed.test.mjs')[0], 'the file ended with SIGKILL', text);
    assert.deepEqual(linesOf('unit: tests/unit/test_bad.c: adds_up'), ['1 != 2', 'a.c:7: error: Failure!'], text);
    assert.deepEqual(linesOf('unit: tests/unit/test_dead.c'), ['ended with SIGABRT in ends_early'], text);
    assert.ok(listed.includes('there is no file tests/http/none.test.mjs'), text);
    assert.equal(listed.at(-1), '4 passed, 7 failed', text); // fails: 1; test_bad: 1; test_good: 2
  });

  it('of a whole run, a file that passes alone is unsteady and fails nothing', () => {
    for (const name of ['fails', 'crashes', 'empty', 'killed']) writeFileSync(join(home, `tests/http/${name}.test.mjs`), passes);
    for (const name of ['test_bad.c', 'test_dead.c']) writeFileSync(join(home, name), FILES['test.c']);
    const { status, text } = test();
    assert.equal(status, 0, text);
    assert.match(text, /^== unsteady: failed beside others, passed alone\ntests\/cluster\/once\.test\.mjs:4: is unsteady\n {4}the machine was slow$/m);
    assert.match(text, /^== the \d+ slowest$/m);
    assert.match(text, /^took \d+ s\. Builds: dev \d+ s\. Second tries: \d+ s\. Seconds of each group, side by side: .*\bhttp \d/m);
    const rows = readFileSync(join(home, 'build/test/durations.tsv'), 'utf8').split('\n');
    assert.ok(rows.some((row) => /^http\/leaves \[4 shards\]\t[\d.]+\t[\d.]+\t1$/.test(row)), rows.join('\n'));
  });

  it('what a file leaves behind ends with it', () => {
    const { stdout } = spawnSync('pgrep', ['-f', '^sleep 31536$'], { encoding: 'utf8' });
    assert.equal(stdout, '');
  });
});

describe('the world of a test file', () => {
  it('is one that its text names, or follows from its name', () => {
    assert.deepEqual(worldOf('tests/http/odd.test.mjs', ''), { shards: 1, isOwn: false });
    assert.deepEqual(worldOf('tests/http/even.test.mjs', ''), { shards: 4, isOwn: false });
    assert.deepEqual(worldOf('tests/http/even.test.mjs', '//\n// Shards: 1, because it counts them.\n'), { shards: 1, isOwn: false });
    assert.deepEqual(worldOf('tests/http/even.test.mjs', "import 'x';\nownShards(); // why\n"), { shards: 1, isOwn: true });
    assert.deepEqual(worldOf('tests/lua/queue/even.test.mjs', ''), { shards: 1, isOwn: true });
    assert.deepEqual([1, 4].map((shards) => otherShards({ shards })), [4, 1]);
  });
});
