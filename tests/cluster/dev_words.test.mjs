// SPDX-License-Identifier: MIT
//
// The words of `./dev`: what each command takes and refuses, and that its help, its completion and the documents say the same.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { makeCheckout } from '../support/checkout.mjs';
import { GROUPS } from '../run/plan.mjs';
import { BIN, cleanEnvironment, ROOT } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

const TIMEOUT = { timeout: 900_000 };
const textOf = (name) => readFileSync(join(ROOT, name), 'utf8');
const COMMANDS = [...textOf('dev').split("cat <<'TEXT'")[1].split('\nTEXT')[0].matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);

describe('the words of ./dev', TIMEOUT, () => {
  const checkout = makeCheckout();
  after(() => checkout.remove());

  it('one that a command would not look at is refused, and nothing is done', async () => {
    const cases = [
      [['up', 3], 'up starts one node and takes no number of them: ./dev cluster 3 starts 3'],
      [['up', 'node1'], "up takes --port N and --redis-port N, not 'node1' (see ./dev help)"],
      [['up', '--threads', 2], 'up has no flag --threads (see ./dev help)'],
      [['up', '--port'], '--port needs a port'],
      [['up', '--port', 'http'], "--port takes a port from 1 to 65535, not 'http'"],
      [['cluster', 2, '--redis-port=65536'], "--redis-port takes a port from 1 to 65535, not '65536'"],
      [['up', '--port', 9000, '--redis-port', 9000], '--port and --redis-port are both 9000'],
      [['cluster', 'two'], "cluster takes a number of nodes from 1 to 999, not 'two'"],
      [['cluster', 0], "cluster takes a number of nodes from 1 to 999, not '0'"],
      [['cluster', 2, 3], "cluster takes one number of nodes, not also '3'"],
      [['down', 'node1'], "down stops everything, and takes no 'node1'"],
      [['logs', 'node1', 'node2'], 'logs takes one name, or none for all of them'],
      [['logs', 'node7'], new RegExp(`^no log of that name in ${checkout.dir}/var/log/ \\(.*\\)$`)],
      [['fmt', 'dev'], "fmt takes --check or nothing, not 'dev'"],
      [['docs', 'verbs'], "docs takes no 'verbs'"],
      [['deps', 'tests'], "deps takes test, containers or nothing, not 'tests'"],
      [['restore'], 'restore takes a file: ./dev restore FILE'],
      [['release', 'now'], "release takes --dry-run and --without package|image, not 'now'"],
      [['release', '--without', 'notes'], "--without takes package or image, not 'notes'"],
      [['upp'], 'no such command: upp: did you mean up? (see ./dev help)'],
      [['tset', 'unit'], 'no such command: tset: did you mean test? (see ./dev help)'],
      [['frobnicate'], 'no such command: frobnicate (see ./dev help)'],
      [['up', '--prot', 9000], 'up has no flag --prot: did you mean --port? (see ./dev help)'],
    ];
    for (const [args, line] of cases) {
      const { code, stdout, stderr } = await checkout.dev(...args);
      assert.deepEqual([code, stdout], [1, ''], `${args}: ${stderr}`);
      if (line instanceof RegExp) assert.match(stderr.trim().replace(/^dev: /, ''), line);
      else assert.equal(stderr, `dev: ${line}\n`);
    }
    const { stderr } = await checkout.dev('up', { env: { PARLEY_PORT: '99999' } });
    assert.equal(stderr, "dev: --port takes a port from 1 to 65535, not '99999'\n");
    assert.deepEqual(checkout.running(), []);
  });

  it('from another folder, hints name it by its path', async () => {
    assert.equal((await checkout.dev('up', 3, { cwd: '/' })).stderr, `dev: up starts one node and takes no number of them: ${checkout.dir}/dev cluster 3 starts 3\n`);
    assert.match((await checkout.dev('engine', { cwd: '/' })).stderr, new RegExp(`^dev: no node runs: start one with ${checkout.dir}/dev up$`, 'm'));
  });

  it('help names every command, group and variable that there is', async () => {
    const help = (await checkout.dev('help')).stdout;
    assert.deepEqual([...help.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name), COMMANDS);
    const taken = [...textOf('cmake/dev/words.sh').split('check_words() {')[1].split('\n}')[0].matchAll(/^ {4}([a-z| ]+)\)/gm)].flatMap(([, names]) => names.split(' | '));
    assert.deepEqual(taken.sort(), [...COMMANDS].sort());
    assert.deepEqual(/groups \(([a-z ]+),/.exec(help)[1].split(' '), GROUPS);
    const [, variables] = /^readonly VARIABLES="([^"]*)"/m.exec(textOf('dev'));
    for (const [name] of help.matchAll(/PARLEY_\w+/g)) assert.ok(variables.split(/\s+/).includes(name), name);
    for (const command of COMMANDS) {
      const { code, stdout } = await checkout.dev(command, '--help');
      assert.equal(code, 0, command);
      if (command !== 'bench') assert.match(stdout, /^usage: \.\/dev /, command);
    }
  });

  it('every variable that ./dev and the tests read is known, so that none is taken for a misspelt one', () => {
    const files = readdirSync(join(ROOT, 'tests'), { recursive: true }).map(String);
    const read = new Set();
    for (const name of files.filter((name) => /\.(mjs|sh)$/.test(name) && !name.includes('node_modules')))
      for (const [, variable] of textOf(`tests/${name}`).matchAll(/process\.env\.(PARLEY_\w+)|\$\{?(PARLEY_\w+)/g)) if (variable) read.add(variable);
    read.delete('PARLEY_SHARDS');
    assert.ok(read.size > 5, [...read].join());
    const [, variables] = /^readonly VARIABLES="([^"]*)"/m.exec(textOf('dev'));
    for (const variable of read) assert.ok(variables.split(/\s+/).includes(variable), variable);
  });

  const complete = (...words) => {
    const script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _parley_dev; printf "%s\\n" "${COMPREPLY[@]}"';
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script, join(ROOT, 'completions/dev.bash'), ...words], { cwd: '/', env: cleanEnvironment(), encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, ''], words.join(' '));
    return stdout.trim().split('\n');
  };

  it('completion has the words of the checkout whose ./dev is called, from any folder', () => {
    const dev = join(ROOT, 'dev');
    assert.deepEqual(complete(dev, ''), [...COMMANDS, 'help']);
    assert.deepEqual(complete(dev, 'up', '--'), ['--port', '--redis-port']);
    assert.deepEqual(complete(dev, 'cluster', '--r'), ['--redis-port']);
    assert.deepEqual(complete(dev, 'build', ''), ['release', 'dev', 'tsan', 'fuzz', 'coverage']);
    assert.deepEqual(complete(dev, 'build', 'dev', 'test_base_st'), ['test_base_str']);
    assert.deepEqual(complete(dev, 'test', 'nig'), ['nightly']);
    assert.deepEqual(complete(dev, 'test', 'tests/http/auth.'), ['tests/http/auth.test.mjs']);
    assert.deepEqual(complete(dev, 'test', '--'), ['--name']);
    assert.ok(!complete(dev, 'test', 'tests/').some((name) => name.includes('node_modules')));
    assert.deepEqual(complete(dev, 'fuzz', 'base_js').sort(), ['base_json', 'base_json_scan']);
    assert.deepEqual(complete(dev, 'release', '--'), ['--dry-run', '--without']);
    assert.deepEqual(complete(dev, 'lint', 'lua_p'), ['lua_patterns']);
    assert.deepEqual([complete(dev, 'fmt', ''), complete(dev, 'deps', ''), complete(dev, 'trace', '--')], [['--check'], ['test', 'containers'], ['--help']]);
  });

  it('docs makes lists of routes, of verbs and of questions, whose links lead somewhere', () => {
    const { status, stderr } = spawnSync('./dev', ['docs'], { cwd: ROOT, env: cleanEnvironment(), encoding: 'utf8', timeout: 120_000 });
    assert.equal(status, 0, stderr);
    assert.ok(textOf('build/docs/openapi.yaml').match(/^ {2}\/.*:$/gm).length > 50);
    for (const [name, row] of [['verbs.md', /^### \w+$/gm], ['questions.md', /^- \[.+\?\]\(/gm]]) {
      const text = textOf(`build/docs/${name}`);
      assert.ok(text.match(row).length > 100, name);
      for (const [, file] of text.matchAll(/\]\(([^()#\s]+)/g)) assert.ok(existsSync(join(ROOT, 'build/docs', file)), `${name}: ${file}`);
    }
  });

  it('a command of ./dev that a document names is one', () => {
    const documents = ['README.md', 'CONTRIBUTING.md', ...['docs', 'docs/handbook', 'docs/operations'].flatMap((dir) => readdirSync(join(ROOT, dir)).filter((name) => name.endsWith('.md')).map((name) => `${dir}/${name}`))];
    let n = 0;
    for (const name of documents)
      for (const [, command] of textOf(name).matchAll(/\.\/dev ([a-z]+)/g)) {
        n++;
        assert.ok([...COMMANDS, 'help'].includes(command), `${name}: ./dev ${command}`);
      }
    assert.ok(n > 20, `found ${n}`);
  });

  it('what CONTRIBUTING says to run is there: files, and one test by its name', () => {
    const text = textOf('CONTRIBUTING.md');
    for (const [name] of text.matchAll(/tests\/[\w/]+\.(?:test\.mjs|c|sh|pl)\b/g)) assert.ok(existsSync(join(ROOT, name)), name);
    const [, line] = /^\| one test by its name \| `(.*?)` \|$/m.exec(text);
    const env = cleanEnvironment({ NODE_TEST_CONTEXT: undefined, PARLEY_BIN: BIN });
    const { status, stdout, stderr } = spawnSync('bash', ['-c', line], { cwd: ROOT, env, encoding: 'utf8', timeout: 250_000 });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^1 passed, 0 failed$/m);
  });
});
