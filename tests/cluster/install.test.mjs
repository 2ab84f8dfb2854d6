// SPDX-License-Identifier: MIT
//
// What `cmake --install` and `./dev package` put where: each file, manual pages that troff takes, and a package that has all of
// it and leaves nothing. That the package runs under systemd, tests/cluster/containers/package.test.sh shows.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ownShards } from '../support/shards.mjs';

ownShards(); // files: the same on any number of shards

const run = promisify(execFile);
const clean = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^PARLEY_(?!BIN)/.test(name)));

// What people install is the release build (RELEASE_BIN), whatever PARLEY_BIN names. A whole run has built it before: then
// this changes nothing in build/release but the pages and completions beside it.
const PROGRAM = 'build/release/parley';
const PAGES = 'build/release/extras/man';

describe('installing', { timeout: 900_000 }, () => {
  let folder;
  let deb;
  let commands;
  const helpOf = async (...words) => (await run(PROGRAM, [...words, '--help'], { env: clean() })).stdout;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-install-'));
    const { stdout } = await run('./dev', ['package'], { env: clean(), maxBuffer: 16 << 20 });
    [, deb] = /^(build\/package\/parley_\S+\.deb): sudo apt install/m.exec(stdout) ?? assert.fail(stdout);
    commands = [...(await helpOf()).split('Commands:\n')[1].split('\n\n')[0].matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    assert.ok(commands.length > 15);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('cmake --install puts the program, its pages and completions under a prefix, and the manifest takes all of it away', async () => {
    await run('cmake', ['--install', 'build/release', '--prefix', '/usr/local', '--strip'], { env: { ...clean(), DESTDIR: folder } });
    for (const file of [
      'bin/parley', 'share/man/man1/parley.1.gz', 'share/bash-completion/completions/parley', 'share/zsh/vendor-completions/_parley', 'share/fish/vendor_completions.d/parley.fish',
      'share/parley/handbook/README.md', 'share/parley/handbook/operations/README.md', 'share/parley/make-accounts', 'share/doc/parley/copyright', 'share/doc/parley/examples/nginx.conf', 'share/doc/parley/examples/monitoring/alerts.yml',
      ...commands.map((name) => `share/man/man1/parley-${name}.1.gz`),
    ]) assert.ok(existsSync(join(folder, 'usr/local', file)), file);
    assert.ok(!existsSync(join(folder, 'etc')) && !existsSync(join(folder, 'usr/lib')), 'what is the package manager’s');
    const { stdout: version } = await run(join(folder, 'usr/local/bin/parley'), ['version']);
    assert.match(version, /^parley \d/);
    const files = readFileSync('build/release/install_manifest.txt', 'utf8').trim().split('\n');
    for (const file of files) await rm(join(folder, file));
    const { stdout: left } = await run('find', [folder, '-type', 'f']);
    assert.equal(left, '');
  });

  it('manual pages have every flag and word of the help text, and troff takes them without a warning', async () => {
    for (const words of [[], ...commands.map((each) => [each])]) {
      const page = join(PAGES, `${['parley', ...words].join('-')}.1`);
      const text = readFileSync(page, 'utf8').replaceAll('\\-', '-');
      for (const [, flag] of (await helpOf(...words)).matchAll(/^ {2}(--[a-z0-9-]+|[a-z]+$)/gm)) assert.match(text, new RegExp(`^\\\\fB${flag}\\b`, 'm'), `${page}: ${flag}`);
      for (const section of ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'SEE ALSO']) assert.match(text, new RegExp(`^\\.SH ${section}$`, 'm'), page);
      assert.ok([...text.matchAll(/^\.SH OPTIONS$/gm)].length <= 1, `${page}: options twice`);
    }
    for (const page of readdirSync(PAGES).filter((name) => name.endsWith('.1'))) {
      const { stderr } = await run('groff', ['-man', '-ww', '-z', '-Tutf8', join(PAGES, page)]);
      assert.equal(stderr, '', page);
    }
  });

  it('examples of a manual page can be pasted', async () => {
    const text = readFileSync(join(PAGES, 'parley-account.1'), 'utf8');
    const [, examples] = /^\.SH EXAMPLES\n\.nf\n([^]*?)^\.fi$/m.exec(text);
    const shown = examples.replaceAll('\\-', '-').replaceAll('\\e', '\\').trimEnd();
    const lines = (await helpOf('account')).split('\nExamples\n')[1].trimEnd().split('\n').map((line) => line.slice(2));
    assert.deepEqual(shown.split('\n'), lines);
  });

  it('the package has units, settings that are kept, and what it depends on', async () => {
    const { stdout: list } = await run('dpkg-deb', ['--contents', deb], { maxBuffer: 4 << 20 });
    for (const path of ['/usr/bin/parley', '/usr/lib/systemd/system/parley.service', '/usr/lib/systemd/system/parley-engine.service', '/etc/parley/node.yaml', '/usr/share/man/man1/parley-serve.1.gz', '/usr/share/doc/parley/changelog.gz']) {
      assert.ok(list.includes(` .${path}\n`), path);
    }
    for (const line of list.trim().split('\n')) assert.match(line, / root\/root /);
    assert.doesNotMatch(list, /usr\/local/);
    const { stdout: depends } = await run('dpkg-deb', ['--field', deb, 'Depends']);
    for (const name of ['libh2o', 'libhiredis', 'libssl', 'poppler-data', 'poppler-utils', 'adduser']) assert.ok(depends.includes(name), `${name} in ${depends}`);
    await run('dpkg-deb', ['--control', deb, join(folder, 'control')]);
    assert.equal(readFileSync(join(folder, 'control/conffiles'), 'utf8'), '/etc/parley/node.yaml\n/etc/parley/engine.yaml\n');
    for (const script of ['postinst', 'prerm', 'postrm']) await run('sh', ['-n', join(folder, 'control', script)]);
  });

  it('settings that the package ships are settings of their commands', async () => {
    for (const [command, name] of [['serve', 'node'], ['engine', 'engine']]) {
      const help = await helpOf(command);
      const keys = [...readFileSync(`packaging/etc/${name}.yaml`, 'utf8').matchAll(/^#?([a-z][a-z-]*): /gm)].map(([, key]) => key);
      assert.ok(keys.length > 2);
      for (const key of keys) assert.ok(help.includes(`--${key} `), `${command} --${key}`);
    }
  });
});
