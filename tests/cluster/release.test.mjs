// SPDX-License-Identifier: MIT
//
// `./dev release` in a repository of its own, which has the files of this checkout: what is refused, and what a release is made of.
// The Debian package takes a whole build of those sources, so it is made nightly (PARLEY_NIGHTLY=1).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cleanEnvironment, makeFolder, ROOT } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // files: the same on any number of shards

const IS_NIGHTLY = process.env.PARLEY_NIGHTLY === '1';
const NOT_OURS = ['.git', 'build', 'var', 'node_modules', '.parley-index'];
const DATE = '2026-01-02';

describe('a release', { timeout: 1_800_000 }, () => {
  const folder = makeFolder();
  const home = join(folder.dir, 'checkout');
  const path = (...names) => join(home, ...names);
  const read = (...names) => readFileSync(path(...names), 'utf8');
  const edit = (name, from, to) => {
    const text = read(name);
    assert.match(text, from, name);
    writeFileSync(path(name), text.replace(from, to));
  };
  const run = (program, args, { cwd = home, env = {} } = {}) => {
    const options = { cwd, env: cleanEnvironment({ GIT_CONFIG_GLOBAL: join(folder.dir, 'gitconfig'), GIT_CONFIG_NOSYSTEM: '1', ...env }), encoding: 'utf8', maxBuffer: 1 << 26 };
    const { status, stdout, stderr } = spawnSync(program, args, options);
    return { code: status, stdout, stderr };
  };
  const must = (...given) => {
    const { code, stdout, stderr } = run(...given);
    assert.equal(code, 0, `${given[0]} ${given[1].join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const git = (...args) => must('git', args);
  const commit = (message) => git('commit', '-qam', message);
  const dev = (...args) => run(path('dev'), args);
  const refusal = (...args) => {
    const { code, stdout, stderr } = dev('release', ...args);
    assert.deepEqual([code, stdout], [1, ''], stderr);
    return stderr.trim().split('\n');
  };
  const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
  const made = () => (existsSync(path('build')) ? readdirSync(path('build')).filter((name) => name.startsWith('release-')) : []);

  let version;
  before(() => {
    writeFileSync(join(folder.dir, 'gitconfig'), '[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n');
    cpSync(ROOT, home, { recursive: true, filter: (name) => name === ROOT || !NOT_OURS.includes(basename(name)) });
    version = must('perl', ['tests/lint/versions.pl', '--print']).trim();
    edit('CHANGELOG.md', /^## .*$/m, `## ${version} (not released yet)`);
    git('init', '-q');
    git('add', '-A');
    commit('all of it');
  });
  after(() => folder.remove());

  it('of a commit that is none is refused, with a line for each reason and nothing made', () => {
    assert.match(refusal()[0], new RegExp(`^dev: CHANGELOG\\.md dates ${version} 'not released yet': write ## ${version} \\(\\d{4}-\\d\\d-\\d\\d\\) and commit it$`));
    edit('Dockerfile', /image\.version="[^"]*"/, 'image.version="9.9.9"');
    edit('CHANGELOG.md', /\[data\s+version\]\(([^)]*)\) \d+/, '[data version]($1) 999');
    const lines = refusal('--dry-run');
    assert.equal(lines[0], 'dev: there are changes that are not committed (git status): a release is made of a commit');
    assert.match(lines[1], new RegExp(`^dev: Dockerfile:\\d+: the label image\\.version has 9\\.9\\.9; CMakeLists\\.txt has ${version}$`));
    assert.match(lines[2], /^dev: CHANGELOG\.md: its first section does not say \[data version\]\(\.\.\.\) \d+, which data_version\.h has$/);
    assert.equal(lines.at(-1), `dev: HEAD is no release of ${version} yet`);
    git('checkout', '-q', '.');
    edit('CHANGELOG.md', /^## .*$/m, `## ${version} (${DATE})`);
    commit('changes: a date');
    git('tag', `v${version}`, 'HEAD~1');
    assert.match(refusal()[0], new RegExp(`^dev: the tag v${version} is on another commit`));
    git('tag', '-d', `v${version}`);
    assert.deepEqual(made(), []);
    assert.match(run(path('dev'), ['release'], { env: { GIT_DIR: join(folder.dir, 'none') } }).stderr, /^dev: a release is made of a git checkout$/m);
  });

  it('that is tried says what it would make, and makes nothing', () => {
    const { code, stdout, stderr } = dev('release', '--dry-run', '--without', 'package', '--without', 'image');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^Parley ${version}, commit [0-9a-f]{12}, in build/release-${version}:$`, 'm'));
    assert.match(stdout, /^ {2}no Debian package \(--without package\)\n {2}no container image \(--without image\)$/m);
    assert.deepEqual(made(), []);
  });

  const archive = () => `parley-${version}.tar.gz`;
  const into = (...names) => path('build', `release-${version}`, ...names);

  it('has an archive of what the commit has, notes without links that lead nowhere, and checksums of both', () => {
    mkdirSync(path('build'), { recursive: true });
    writeFileSync(path('build', 'left-over'), 'not of the commit');
    const { code, stdout, stderr } = dev('release', '--without', 'package', '--without', 'image');
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(readdirSync(into()).sort(), ['NOTES.md', 'SHA256SUMS', archive()]);
    assert.deepEqual(made(), [`release-${version}`], 'the sources that it unpacked are gone');
    for (const name of ['NOTES.md', archive()]) assert.ok(readFileSync(into('SHA256SUMS'), 'utf8').includes(`${sha256(into(name))}  ${name}\n`), name);
    must('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: into() });

    const names = must('tar', ['-tzf', into(archive())]).trim().split('\n');
    assert.deepEqual(names.filter((name) => !name.endsWith('/')).sort(), git('ls-files').trim().split('\n').map((name) => `parley-${version}/${name}`).sort());
    assert.equal(must('tar', ['-xzOf', into(archive()), `parley-${version}/CMakeLists.txt`]), read('CMakeLists.txt'));

    const notes = readFileSync(into('NOTES.md'), 'utf8');
    assert.ok(notes.startsWith(`# Parley ${version}\n\n`), notes.slice(0, 80));
    const [, section] = read('CHANGELOG.md').split(/^## .*$/m);
    for (const heading of section.match(/^### .*$/gm)) assert.ok(notes.includes(heading), heading);
    assert.doesNotMatch(notes, /\]\((?!https?:)/);
    assert.match(notes, new RegExp(git('rev-parse', 'HEAD').trim()));

    assert.match(stdout, new RegExp(`^ {2}git tag -a v${version} -m "Parley ${version}" [0-9a-f]{12} && git push origin v${version}$`, 'm'));
    assert.equal(git('tag'), '', 'it tags nothing itself');
  });

  it('of one commit has the same bytes in another clone, for another user with other settings, and at another time', () => {
    const first = sha256(into(archive()));
    const clone = join(folder.dir, 'clone');
    must('git', ['clone', '-q', home, clone]);
    for (const name of readdirSync(clone)) utimesSync(join(clone, name), 1e9, 1e9);
    chmodSync(join(clone, 'README.md'), 0o600);
    writeFileSync(join(folder.dir, 'gitconfig'), '[tar]\n\tumask = 0077\n[core]\n\tautocrlf = true\n');
    must('sh', ['-c', 'umask 077 && ./dev release --without package --without image'], { cwd: clone, env: { TZ: 'Asia/Tokyo', LANG: 'de_DE.UTF-8' } });
    assert.equal(sha256(join(clone, 'build', `release-${version}`, archive())), first);
  });

  it('is followed by a version that is written into all places with one command', () => {
    must('perl', ['tests/lint/versions.pl', '--set', '98.76.54']);
    assert.match(read('CHANGELOG.md'), new RegExp(`^## 98\\.76\\.54 \\(not released yet\\)\n\n## ${version.replaceAll('.', '\\.')} `, 'm'));
    assert.match(read('Dockerfile'), /image\.version="98\.76\.54"/);
    edit('CHANGELOG.md', /^(## 98.*\n)/m, `$1\n[data version](docs/operations/upgrade.md#the-data-version) ${/DATA_VERSION = (\d+)/.exec(read('shared/redis/data_version.h'))[1]}\n`);
    must('perl', ['tests/lint/versions.pl']);
    assert.equal(run('git', ['grep', '-lE', `parley[:_]${version.replaceAll('.', '\\.')}`, '--', ':!docs/history', ':!docs/adr', ':!CHANGELOG.md', ':!*.test.mjs']).stdout, '');
    git('checkout', '-q', '.');
  });

  it('has a Debian package that is built from the archive and says its version', { skip: !IS_NIGHTLY && 'takes a whole build: PARLEY_NIGHTLY=1' }, () => {
    must(path('dev'), ['release', '--without', 'image']);
    const [deb] = readdirSync(into()).filter((name) => name.endsWith('.deb'));
    assert.ok(readFileSync(into('SHA256SUMS'), 'utf8').includes(`${sha256(into(deb))}  ${deb}\n`));
    assert.equal(must('dpkg-deb', ['--field', into(deb), 'Version']).trim(), version);
    const list = must('dpkg-deb', ['--contents', into(deb)]);
    for (const name of ['usr/bin/parley', 'usr/lib/systemd/system/parley.service', 'etc/parley/node.yaml', 'usr/share/doc/parley/changelog.gz']) assert.ok(list.includes(` ./${name}\n`), name);
    must('dpkg-deb', ['--extract', into(deb), join(folder.dir, 'installed')]);
    assert.match(must(join(folder.dir, 'installed/usr/bin/parley'), ['version']), new RegExp(`^parley ${version}\\b`));
    assert.ok(!existsSync(path('build/release-source')));
  });
});
