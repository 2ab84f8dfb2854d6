// SPDX-License-Identifier: MIT
//
// verbs: the generator of calls (cmake/verbs.pl): what it refuses, with the place and the reason, and how little it
// takes to add a verb, and to get its call wrong.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const trees = [];
after(() => trees.forEach((tree) => rmSync(tree, { recursive: true })));

function newTree() {
  const tree = mkdtempSync(join(tmpdir(), 'parley-verbs-'));
  trees.push(tree);
  return tree;
}

function write(tree, path, text) {
  mkdirSync(dirname(join(tree, path)), { recursive: true });
  writeFileSync(join(tree, path), text);
}

const generate = (tree, what) => spawnSync('perl', [join(ROOT, 'cmake/verbs.pl'), what], { cwd: tree, encoding: 'utf8' });

const HEADER = `-- toy: does something small.
-- KEYS: none.
-- Wakes: nobody.
-- Bound: one toy.
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   n       number  how many
--   is_own  flag
-- Replies: ok/n | replay | missing (is_own)
`;
const BODY = `local function verb(turn, a)
    --- arguments
    if is_own then return 'missing' end
    return 'ok\\n' .. topic .. n
end

return {toy = verb}
`;

// What the generator says of this one verb, or of these files.
function faultsOf(files) {
  const tree = newTree();
  if (typeof files === 'string') files = { 'lua/toys/toy.lua': files };
  for (const [path, text] of Object.entries(files)) write(tree, path, text);
  write(tree, 'lua/verbs.lua', '-- verbs: all.\nlocal module_of = {\n--- verbs\n}\n\nreturn {module_of = module_of}\n');
  write(tree, 'lua/library.lua', "-- library: all.\nlocal verbs = require('verbs')\n--- runs_when_full\n--- takes_nonce\nprint(verbs.module_of, RUNS_WHEN_FULL, TAKES_NONCE)\n");
  const { status, stderr, stdout } = generate(tree, '--json');
  assert.equal(status, stderr ? 1 : 0, stderr);
  return stderr.split('\n')[0] || JSON.parse(stdout);
}

const refused = (name, files, expected) => it(name, () => assert.equal(faultsOf(files), expected));
const header = (from, to) => HEADER.replace(from, to) + BODY;
const body = (from, to) => HEADER + BODY.replace(from, to);
const at = (line, why) => `lua/toys/toy.lua:${line}: ${why}`;

describe('the generator of calls', () => {
  it('takes a good verb', () => {
    const { toy } = faultsOf(HEADER + BODY);
    assert.deepEqual(toy.args.map(({ name, kind }) => `${name} ${kind}`), ['topic name', 'n number', 'is_own flag']);
    assert.equal(toy.nonce, 'yes');
  });

  it('leaves a used nonce to a verb that may know its request again', () => {
    const own = header('Nonce: yes', 'Nonce: again').replace("if is_own then", "if is_replay and is_own then return 'replay' end\n    if is_own then");
    assert.equal(faultsOf(own).toy.nonce, 'again');
  });

  refused('an unknown kind', header('n       number', 'n       integer'), at(9, "n: there is no kind 'integer': bytes, digits, flag, json, name, number, text, words"));
  refused('an argument without a bound', header('n       number', 'n       text'), at(9, "n: a text has a bound, as in 'n text 64k'"));
  refused('a list without a bound', header('--   is_own  flag\n', '--   is_own  flag\n--   each toy:\n--     name  name\n'), at(11, "'each toy:' is not as in 'each doc 300:'"));
  refused('words that are none', header('n       number', 'n       words one'), at(9, "n: which words? As in 'n words yes|no'"));
  refused('two arguments of one name', header('is_own  flag', 'topic   flag').replace('is_own', 'topic'), at(10, 'two arguments are named topic'));
  refused('an argument whose name means something else', header('n       number', 'call    number').replace('.. n', '.. call'), at(9, "'call' cannot be the name of an argument"));
  refused('an argument after a list', header('--   is_own  flag', '--   each toy 3:\n--     name  name\n--   is_own  flag').replace('topic .. n', 'topic .. n .. toy_from'), at(12, 'is_own comes after a list: lists are last'));
  refused('a list without columns', header('--   is_own  flag', '--   is_own  flag\n--   each toy 3:').replace('topic .. n', 'topic .. n .. toy_from'), at(11, 'each toy has no column'));
  refused('a line that is no argument', header('--   n       number', '--    n number'), at(9, "'n number how many' is indented neither as an argument (3), nor as a list's column (5), nor as a note").replace('number how', 'number  how'));
  refused('an argument that is never used', body('topic .. n', 'topic'), at(9, "the argument 'n' is never used"));
  it('takes an argument that only says where the verb runs', () => assert.equal(faultsOf(body('topic .. n', 'n')).toy.args[0].name, 'topic'));
  refused('an argument that is read by its place', body('topic .. n', 'topic .. n .. args[a + 2]'), at(15, 'an argument is read by its place, and not by its name'));
  refused('a function that names no arguments', body('    --- arguments\n', ''), at(12, "the function's first line is not '    --- arguments'"));
  refused('a reply that is not declared', body("'missing'", "'gone'"), at(14, "the reply 'gone' is not declared under Replies:"));
  refused('a nonce without a replay', header(' | replay', ''), at(11, 'a verb with a nonce may reply replay, and no other one'));
  refused('a replay without a nonce', header('Nonce: yes', 'Nonce: no'), at(11, 'a verb with a nonce may reply replay, and no other one'));
  refused('a lane that there is none of', header('Lane: add.', 'Lane: fast.'), at(5, "the header has no 'Lane: first | claim | add | read | slow.'"));
  refused('a home without the argument that says where', header('--   topic   name\n', '').replace('topic ..', "''.."), at(5, 'Home: topic, but no argument is named topic or claim'));
  it('knows where rooms and evaluations are', () => {
    for (const home of ['room', 'evaluation']) {
      const [first, second] = [header('Home: topic', `Home: ${home}`), header('Home: topic', `Home: ${home}`).replaceAll('topic', home)];
      assert.equal(faultsOf(first), at(5, `Home: ${home}, but no argument is named ${home}`));
      assert.equal(faultsOf(second).toy.home, home);
    }
  });
  refused('a header without its bound', header('-- Bound: one toy.\n', ''), at(1, 'the header has no Bound:'));
  refused('a header without its verb', HEADER, at(1, 'a header without its verb: where is local function verb(turn, a)?'));
  refused('a header of another name', header('-- toy:', '-- tool:'), at(1, "the header does not begin with '-- toy: what it does'"));
  refused('a file that returns no verb', body('return {toy = verb}', 'return {}'), at(12, "the file does not end with 'return {NAME = verb}'"));

  it('refuses a verb without a header', () => assert.equal(faultsOf(BODY), at(1, "the header does not begin with '-- toy: what it does'")));
  refused('two verbs of one name', { 'lua/toys/toy.lua': HEADER + BODY, 'lua/toys/tool.lua': HEADER + BODY },
    'lua/toys/toy.lua:12: there are two verbs named toy, the other one in lua/toys/tool.lua');

  it('keeps the numbers of lines', () => {
    const tree = newTree();
    cpSync(join(ROOT, 'lua'), join(tree, 'lua'), { recursive: true });
    const { stdout, status, stderr } = generate(tree, '--expand');
    assert.equal(status, 0, stderr);
    const text = readFileSync(join(ROOT, 'lua/queue/complete.lua'), 'utf8').split('\n');
    const lines = stdout.split('\n');
    const first = lines.findIndex((line) => line.startsWith("texts['queue/complete'] = "));
    const same = text.filter((line, i) => line !== '' && lines[first + i] === line);
    assert.ok(same.length > 30, `${same.length} of ${text.length} lines are where they were`);
    assert.match(lines[first + text.indexOf('    --- arguments')], /^    local args = .*local topic, seq, lease/);
  });
});

// A copy of the tree to which the toy was added: its file, and a call.
function treeWithToy(call) {
  const tree = newTree();
  cpSync(join(ROOT, 'lua'), join(tree, 'lua'), { recursive: true });
  write(tree, 'lua/operator/toy.lua', HEADER + BODY);
  const { status, stderr } = generate(tree, 'generated');
  assert.equal(status, 0, stderr);
  write(tree, 'toy.c', `#include "generated/verbs.h"\n\nvoid play(struct call_start start);\nvoid play(struct call_start start)\n{\n    ${call};\n}\n`);
  return tree;
}

const FLAGS = ['-std=gnu11', '-fsyntax-only', '-D_GNU_SOURCE', '-DH2O_USE_LIBUV=0', '-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter', '-Wno-missing-field-initializers'];
function compile(compiler, tree) {
  const cflags = execFileSync('pkg-config', ['--cflags', 'libh2o-evloop', 'hiredis'], { encoding: 'utf8' }).trim().split(/\s+/).filter(Boolean);
  const result = spawnSync(compiler, [...FLAGS, ...cflags.map((flag) => flag.replace(/^-I/, '-isystem')), `-I${tree}`, `-I${ROOT}`, join(tree, 'toy.c')], { encoding: 'utf8' });
  if (result.error) return null;
  return result.status === 0 ? '' : result.stderr;
}

for (const compiler of ['gcc', 'clang']) {
  describe(`a toy verb, by ${compiler}`, () => {
    const compiles = (name, call, pattern) => it(name, (t) => {
      const said = compile(compiler, treeWithToy(call));
      if (said === null) t.skip(`there is no ${compiler}`);
      else if (pattern) assert.match(said, pattern);
      else assert.equal(said, '');
    });
    compiles('is a Lua file and a call', 'call_toy(start, .n = 1, .topic = STR("t"), .is_own = true)');
    compiles('does not compile without an argument', 'call_toy(start, .n = 1, .topic = STR("t"))', /call_toy takes 3 arguments, each by its name/);
    compiles('does not compile without its only argument', 'call_key(start)', /call_key takes 1 arguments, each by its name/);
    compiles('does not compile with an argument twice', 'call_toy(start, .n = 1, .topic = STR("t"), .n = 2)', /n = 2|initializer overrides|overwritten/);
    compiles('does not compile with one misspelt', 'call_toy(start, .n = 1, .topic = STR("t"), .is_mine = true)', /is_mine/);
    compiles('does not compile with a text for a number', 'call_toy(start, .n = STR("1"), .topic = STR("t"), .is_own = true)', /incompatible/);
    if (compiler === 'gcc') compiles('does not compile by place', 'call_toy(start, STR("t"), 1, true)', /designated_init/);
  });
}
