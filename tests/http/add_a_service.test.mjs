// SPDX-License-Identifier: MIT
//
// docs/add-a-service.md, word by word, on a copy of the tree: its files and changes are applied, what is new is
// compiled and linked with the rest of the build under test, its own test and the checks that it names are run.
// Of the code, nothing but the service's folder and one row has changed then.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BIN } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a copy of the tree, its build and its checks: the same on any number of shards

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const PAGE = 'docs/add-a-service.md';
const FOLDER = 'services/greeting';
const CODE = ['services', 'shared', 'lua', 'cmake', 'CMakeLists.txt'];
const LEFT_OUT = ['.git', 'build', 'var', 'node_modules'];
const BUILD = dirname(BIN);

// Runs a program; what it printed is in the message when it fails.
async function run(command, args, options = {}) {
  try {
    return await promisify(execFile)(command, args, { maxBuffer: 1 << 24, ...options });
  } catch (error) {
    throw new Error(`${command} ${args.join(' ')}\n${error.stdout}\n${error.stderr}`);
  }
}

// {name, text} of each block that a line with a file's name is in front of.
function newFiles(page) {
  return [...page.matchAll(/^`([^`\n]+)`:\n\n```\w+\n([^]*?)^```$/gm)].map(([, name, text]) => ({ name, text }));
}

// {name, before, after} of each diff: the lines that must be there, once, and what is there afterwards.
function changes(page) {
  return [...page.matchAll(/^```diff\n\+\+\+ (\S+)\n([^]*?)^```$/gm)].map(([, name, text]) => {
    const lines = text.replace(/\n$/, '').split('\n');
    const pick = (marks) => lines.filter((line) => marks.includes(line[0])).map((line) => `${line.slice(1)}\n`).join('');
    return { name, before: pick(' -'), after: pick(' +') };
  });
}

function filesUnder(folder, path) {
  const whole = join(folder, path);
  if (!existsSync(whole)) return [];
  const entries = readdirSync(whole, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules');
  return entries.flatMap((entry) => (entry.isDirectory() ? filesUnder(folder, join(path, entry.name)) : [join(path, entry.name)]));
}

// The names of all files of the code that are not the same in both trees.
function differing(one, other) {
  const same = (name) => existsSync(join(one, name)) && existsSync(join(other, name)) && readFileSync(join(one, name)).equals(readFileSync(join(other, name)));
  const names = [one, other].flatMap((tree) => CODE.flatMap((path) => (path.includes('.') ? [path] : filesUnder(tree, path))));
  return [...new Set(names)].filter((name) => !same(name)).sort();
}

describe('docs/add-a-service.md', () => {
  const page = readFileSync(join(ROOT, PAGE), 'utf8');
  let copy, binary;

  before(() => {
    copy = mkdtempSync(join(tmpdir(), 'parley-service-'));
    for (const path of readdirSync(ROOT).filter((name) => !LEFT_OUT.includes(name)))
      cpSync(join(ROOT, path), join(copy, path), { recursive: true, filter: (from) => basename(from) !== 'node_modules' });
    symlinkSync(join(ROOT, 'tests/node_modules'), join(copy, 'tests/node_modules'));
    binary = join(copy, 'parley');
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  it('says what to write, and where', () => {
    for (const { name, text } of newFiles(page)) {
      assert.ok(!existsSync(join(copy, name)), `${name} is there already`);
      mkdirSync(dirname(join(copy, name)), { recursive: true });
      writeFileSync(join(copy, name), text);
    }
    for (const { name, before, after } of changes(page)) {
      const parts = readFileSync(join(copy, name), 'utf8').split(before);
      assert.equal(parts.length, 2, `these lines are to be in ${name} once:\n${before}`);
      writeFileSync(join(copy, name), parts.join(after));
    }
    assert.deepEqual(
      filesUnder(copy, FOLDER).map((name) => basename(name)).sort(),
      ['greet.c', 'greeting.h', 'routes.yaml', 'service.c'],
    );
  });

  it('changes nothing of the code but a folder and a row', async () => {
    const changed = differing(ROOT, copy).filter((name) => !name.startsWith(`${FOLDER}/`));
    assert.deepEqual(changed, ['services/node/table.c']);
    const lines = (tree) => readFileSync(join(tree, 'services/node/table.c'), 'utf8').split('\n');
    const rows = lines(copy).filter((line) => !lines(ROOT).includes(line));
    assert.equal(rows.length, 1, rows.join('\n'));
    assert.equal(lines(copy).length, lines(ROOT).length + 1);
  });

  it('has its target and its flag in the pages about operations after the command that it names', async () => {
    const [, command] = /`(perl cmake\/flags\.pl)`/.exec(page);
    await run('sh', ['-c', command], { cwd: copy });
    const text = readFileSync(join(copy, 'docs/operations/configure.md'), 'utf8');
    assert.match(text, /^\| `greeting` \| greets people \|$/m);
    assert.match(text, /^\| `--greeting-words TEXT` \| `Hello` \| .+ \|$/m);
  });

  it('passes the checks that it names', async () => {
    for (const check of ['boundaries', 'buffers', 'settings', 'links', 'text']) await run('perl', [`tests/lint/${check}.pl`], { cwd: copy });
    const files = [...filesUnder(copy, FOLDER).filter((name) => /\.[ch]$/.test(name)), 'services/node/table.c'];
    await run('clang-format-14', ['--dry-run', '-Werror', ...files], { cwd: copy });
  });

  it('builds', async () => {
    const commands = JSON.parse(readFileSync(join(BUILD, 'compile_commands.json'), 'utf8'));
    const { command } = commands.find(({ file }) => file.endsWith('/services/node/table.c'));
    const compile = command.replace(/ -o \S+ -c \S+$/, '').replaceAll(ROOT, copy);
    await run('perl', ['cmake/routes.pl', 'generated'], { cwd: copy });
    const objects = await Promise.all(
      [...differing(ROOT, copy).filter((name) => name.endsWith('.c')), 'generated/routes_greeting.c'].map(async (name) => {
        const object = join(copy, `${name.replaceAll('/', '_')}.o`);
        await run('sh', ['-c', `${compile} -o ${object} -c ${join(copy, name)}`], { cwd: copy });
        return object;
      }),
    );
    // What is given by name is taken instead of what the library has.
    const { stdout } = await run('ninja', ['-C', BUILD, '-t', 'commands', 'parley']);
    const link = stdout.trim().split('\n').at(-1).replace(/ -o parley /, ` -o ${binary} ${objects.join(' ')} `);
    assert.ok(link.includes(binary), link);
    await run('sh', ['-c', link], { cwd: BUILD });
  });

  it('says its target and its flag in --help', async () => {
    const { stdout } = await run(binary, ['serve', '--help']);
    assert.match(stdout, /^ {2}greeting +greets people$/m);
    assert.match(stdout, /^Greeting:\n {2}--greeting-words TEXT\n.*\n {8}Environment: PARLEY_GREETING_WORDS\. Default: Hello\.$/m);
  });

  it('works, as its own test says, and is documented', async () => {
    const files = [...newFiles(page).map(({ name }) => name).filter((name) => name.endsWith('.test.mjs')), 'tests/http/openapi.test.mjs'];
    assert.equal(files.length, 2);
    const { NODE_TEST_CONTEXT: _, ...env } = { ...process.env, PARLEY_BIN: binary };
    const { stdout } = await run('node', ['--test', ...files], { cwd: copy, env });
    assert.match(stdout, /^(#|ℹ) fail 0$/m);
  });

  it('can be taken away again: the folder and the row', () => {
    rmSync(join(copy, FOLDER), { recursive: true });
    for (const { name, before, after } of changes(page).filter(({ name }) => name.startsWith('services/'))) {
      writeFileSync(join(copy, name), readFileSync(join(copy, name), 'utf8').split(after).join(before));
    }
    assert.deepEqual(differing(ROOT, copy), []);
  });
});
