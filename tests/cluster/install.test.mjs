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

describe('installing', { timeout: 600_000 }, () => {
  let folder;
  let commands;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-install-'));
    await run('./dev', ['package'], { env: clean(), maxBuffer: 16 << 20 });
    const { stdout } = await run('build/release/parley', ['--help']);
    commands = [...stdout.split('Commands:\n')[1].split('\n\n')[0].matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    assert.ok(commands.length > 15);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('puts the program, its pages and completions under a prefix, and the manifest takes all of it away', async () => {
    await run('cmake', ['--install', 'build/release', '--prefix', '/usr', '--strip'], { env: { ...process.env, DESTDIR: folder } });
    for (const file of [
      'bin/parley', 'share/man/man1/parley.1', 'share/bash-completion/completions/parley', 'share/zsh/vendor-completions/_parley', 'share/fish/vendor_completions.d/parley.fish',
      'share/parley/handbook/README.md', 'share/parley/make-accounts', 'share/doc/parley/copyright', 'share/doc/parley/examples/nginx.conf', 'share/doc/parley/examples/monitoring/alerts.yml',
      ...commands.map((name) => `share/man/man1/parley-${name}.1`),
    ]) assert.ok(existsSync(join(folder, 'usr', file)), file);
    assert.ok(!existsSync(join(folder, 'etc')) && !existsSync(join(folder, 'usr/lib/systemd')), 'what is the package manager’s');
    const files = readFileSync('build/release/install_manifest.txt', 'utf8').trim().split('\n');
    for (const file of files) await rm(join(folder, file));
    const { stdout } = await run('find', [folder, '-type', 'f']);
    assert.equal(stdout, '');
  });

  it('manual pages have every flag of the help text, and troff takes them without a warning', async (t) => {
    for (const name of ['', ...commands.map((each) => `-${each}`)]) {
      const page = `build/release/extras/man/parley${name}.1`;
      const text = readFileSync(page, 'utf8').replaceAll('\\-', '-');
      const { stdout: help } = await run('build/release/parley', [...(name ? [name.slice(1)] : []), '--help'], { env: clean() });
      for (const [, flag] of help.matchAll(/^ {2}(--[a-z0-9-]+)/gm)) assert.match(text, new RegExp(`^\\\\fB${flag}\\b`, 'm'), `${page}: ${flag}`);
    }
    const hasGroff = await run('groff', ['--version']).then(() => true, () => false);
    if (!hasGroff) return t.diagnostic('no groff here: pages were not set');
    for (const page of readdirSync('build/release/extras/man')) {
      const { stderr } = await run('groff', ['-man', '-ww', '-z', '-Tutf8', join('build/release/extras/man', page)]);
      assert.equal(stderr, '', page);
    }
  });

  it('the package has units, settings that are kept, and what it depends on', async () => {
    const [file] = readdirSync('build/release').filter((name) => /^parley_.*\.deb$/.test(name));
    const deb = join('build/release', file);
    const { stdout: list } = await run('dpkg-deb', ['--contents', deb], { maxBuffer: 4 << 20 });
    for (const path of ['/usr/bin/parley', '/usr/lib/systemd/system/parley.service', '/usr/lib/systemd/system/parley-engine.service', '/etc/parley/node.yaml', '/usr/share/man/man1/parley-serve.1']) {
      assert.ok(list.includes(` .${path}\n`), path);
    }
    for (const line of list.trim().split('\n')) assert.match(line, / root\/root /);
    const { stdout: depends } = await run('dpkg-deb', ['--field', deb, 'Depends']);
    for (const name of ['libh2o', 'libhiredis', 'libssl', 'poppler-utils', 'adduser']) assert.ok(depends.includes(name), `${name} in ${depends}`);
    await run('dpkg-deb', ['--control', deb, join(folder, 'control')]);
    assert.equal(readFileSync(join(folder, 'control/conffiles'), 'utf8'), '/etc/parley/node.yaml\n/etc/parley/engine.yaml\n');
    for (const script of ['postinst', 'prerm', 'postrm']) await run('sh', ['-n', join(folder, 'control', script)]);
  });

  it('settings that the package ships are settings of their commands', async () => {
    for (const [command, name] of [['serve', 'node'], ['engine', 'engine']]) {
      const { stdout: help } = await run('build/release/parley', [command, '--help']);
      for (const [, key] of readFileSync(`packaging/etc/${name}.yaml`, 'utf8').matchAll(/^#?([a-z][a-z-]*): /gm)) assert.ok(help.includes(`--${key} `), `${command} --${key}`);
    }
  });
});
