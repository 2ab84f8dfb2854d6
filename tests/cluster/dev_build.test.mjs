// SPDX-License-Identifier: MIT
//
// `./dev build` and `./dev test` in a project of a few lines: what they build, and what is built after the folder was copied or moved.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BIN, cleanEnvironment, makeFolder, ROOT } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

const TIMEOUT = { timeout: 900_000 };
const says = (text) => `#include <stdio.h>\nint main(void) { puts("${text}"); }\n`;
const passes = says('[  PASSED  ] 1 test(s).');
const FILES = {
  'CMakeLists.txt': `cmake_minimum_required(VERSION 3.22)
project(small C)
add_executable(parley main.c)
foreach(name test_one test_two fuzz_one fuzz_two)
  add_executable(\${name} test.c)
endforeach()
`,
  'main.c': says('first'),
  'test.c': passes,
  'tests/unit/test_one.c': passes,
  'tests/unit/test_two.c': passes,
  'tests/fuzz/fuzz_one.c': passes,
  'tests/http/small.test.mjs': "import { it } from 'node:test';\nit('is small', () => {});\nit('is tall', () => {});\n",
  'tests/http/measured.test.mjs': "import { it } from 'node:test';\nconst RELEASE_BIN = '';\nit(`measures ${RELEASE_BIN}`, () => {});\n",
  'tests/lua/small.test.mjs': "import { it } from 'node:test';\nit('is small', () => {});\n",
  // What npm would install is there.
  'tests/package-lock.json': '{}',
  'tests/node_modules/.installed-lock': '{}',
};

describe('./dev in a small project', TIMEOUT, () => {
  const folder = makeFolder();
  const home = join(folder.dir, 'home');
  before(() => {
    for (const [name, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), text);
    }
    for (const name of ['dev', 'tests/run.mjs', 'tests/run', 'tests/support/world.mjs', 'CMakePresets.json']) cpSync(join(ROOT, name), join(home, name), { recursive: true });
    symlinkSync(join(ROOT, 'cmake'), join(home, 'cmake'));
  });
  after(() => folder.remove());

  const run = (dir, args, { env = {}, cwd = dir } = {}) =>
    spawnSync(join(dir, 'dev'), args, { cwd, env: cleanEnvironment({ NODE_TEST_CONTEXT: undefined, ...env }), encoding: 'utf8', timeout: 250_000 });
  const dev = (dir, ...args) => {
    const { status, stdout, stderr } = run(dir, args);
    assert.equal(status, 0, stdout + stderr);
    return stdout;
  };
  const printed = (dir, preset = 'release') => spawnSync(join(dir, `build/${preset}/parley`), { encoding: 'utf8' }).stdout.trim();
  // The programs in build/PRESET.
  const built = (dir) =>
    ['dev', 'release', 'fuzz'].flatMap((preset) => {
      const path = join(dir, 'build', preset);
      return existsSync(path) ? readdirSync(path).filter((name) => /^(parley|(test|fuzz)_\w+)$/.test(name)).map((name) => `${preset}/${name}`) : [];
    });

  it('a test of one file builds what that file needs, and nothing else', () => {
    const of = (name, ...args) => {
      const dir = join(folder.dir, name);
      cpSync(home, dir, { recursive: true });
      assert.match(dev(dir, 'test', ...args), /^1 passed, 0 failed$/m);
      return built(dir);
    };
    assert.deepEqual(of('unit', 'test_one'), ['dev/test_one']);
    assert.deepEqual(of('unit-file', 'tests/unit/test_two.c'), ['dev/test_two']);
    assert.deepEqual(of('http', '--name', 'small', 'tests/http/small.test.mjs'), ['dev/parley']);
    assert.deepEqual(of('measured', 'tests/http/measured.test.mjs'), ['dev/parley', 'release/parley']);
    assert.deepEqual(of('lua', 'tests/lua/small.test.mjs'), []);
    assert.deepEqual(of('fuzz', 'fuzz_one'), ['fuzz/fuzz_one']);
  });

  it('with PARLEY_BIN nothing is built', () => {
    const dir = join(folder.dir, 'given');
    cpSync(home, dir, { recursive: true });
    const { status, stdout } = run(dir, ['test', 'tests/http/small.test.mjs'], { env: { PARLEY_BIN: BIN } });
    assert.deepEqual([status, built(dir)], [0, []], stdout);
  });

  it('a file may be named from the folder where one is', () => {
    const { status, stdout, stderr } = run(home, ['test', 'small.test.mjs'], { cwd: join(home, 'tests/lua') });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^1 passed, 0 failed$/m);
  });

  it('what is not there fails before anything is built, and names the file', () => {
    const dir = join(folder.dir, 'nothing');
    cpSync(home, dir, { recursive: true });
    const { status, stdout } = run(dir, ['test', 'test_none', 'tests/http/none.test.mjs', 'fuzz_none', 'none']);
    assert.equal(status, 1);
    for (const file of ['tests/unit/test_none.c', 'tests/http/none.test.mjs', 'tests/fuzz/fuzz_none.c', 'none'])
      assert.match(stdout, new RegExp(`^FAILED: .*${file}`, 'm'));
    assert.deepEqual(built(dir), []);
    const named = run(dir, ['test', '--name', 'nobody', 'tests/lua/small.test.mjs']);
    assert.equal(named.status, 1);
    assert.match(named.stdout, /^no test has a name that matches 'nobody'$/m);
  });

  it('a copy builds its own sources, and leaves those of the other folder alone', () => {
    dev(home, 'build');
    mkdirSync(join(home, 'build/release/corpus'));
    writeFileSync(join(home, 'build/release/corpus/found'), 'x');
    const copy = join(folder.dir, 'copy');
    assert.equal(spawnSync('cp', ['-a', home, copy]).status, 0);
    writeFileSync(join(copy, 'main.c'), says('second'));
    assert.match(dev(copy, 'build', 'release'), new RegExp(`^build/release was made in ${home}: building it from the beginning$`, 'm'));
    assert.deepEqual([printed(home), printed(copy)], ['first', 'second']);
    assert.equal(readFileSync(join(copy, 'build/release/corpus/found'), 'utf8'), 'x', 'what fuzz targets found stays');
    assert.doesNotMatch(dev(copy, 'build'), /from the beginning/);
  });

  it('a folder that was moved builds what is in it', () => {
    const moved = join(folder.dir, 'moved');
    renameSync(join(folder.dir, 'copy'), moved);
    writeFileSync(join(moved, 'main.c'), says('third'));
    dev(moved, 'build');
    assert.equal(printed(moved), 'third');
    // And where another one has taken its place since.
    assert.equal(spawnSync('cp', ['-a', moved, join(folder.dir, 'copy')]).status, 0);
    renameSync(moved, join(folder.dir, 'elsewhere'));
    writeFileSync(join(folder.dir, 'elsewhere', 'main.c'), says('fourth'));
    dev(join(folder.dir, 'elsewhere'), 'build');
    assert.equal(printed(join(folder.dir, 'elsewhere')), 'fourth');
  });

  it('targets are built alone, and a preset that is none is refused with those that are', () => {
    const dir = join(folder.dir, 'targets');
    cpSync(home, dir, { recursive: true });
    dev(dir, 'build', 'dev', 'test_one', 'test_two');
    assert.deepEqual(built(dir).filter((name) => name.startsWith('dev/')), ['dev/test_one', 'dev/test_two']);
    const { status, stderr } = run(dir, ['build', 'debug']);
    assert.deepEqual([status, stderr], [1, 'dev: no such preset: debug (CMakePresets.json has: release dev tsan fuzz coverage)\n']);
  });
});
