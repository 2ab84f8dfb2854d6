// SPDX-License-Identifier: MIT
//
// A package that `./dev` cannot install: apt-get itself runs, with sources of this test's own, and its reason is on the terminal.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cleanEnvironment, makeFolder, ROOT } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

const TIMEOUT = { timeout: 900_000 };
const MISSING = 'parley-nonesuch';
const NOBODY = 65534;
const isRoot = process.getuid() === 0;
const hasApt = spawnSync('apt-get', ['--version']).status === 0;

describe('./dev and a package that cannot be had', { ...TIMEOUT, skip: !hasApt && 'there is no apt-get' }, () => {
  const folder = makeFolder();
  const home = join(folder.dir, 'home'), apt = join(folder.dir, 'apt');
  const sources = (text) => writeFileSync(join(apt, 'sources.list'), text);
  before(() => {
    mkdirSync(join(home, 'cmake/deps'), { recursive: true });
    for (const name of ['dev', 'cmake/dev']) cpSync(join(ROOT, name), join(home, name), { recursive: true });
    writeFileSync(join(home, 'cmake/deps/build.txt'), `# names\n${MISSING}  for this test\n`);
    for (const name of ['lists/partial', 'cache/archives/partial', 'parts']) mkdirSync(join(apt, name), { recursive: true });
    writeFileSync(
      join(apt, 'apt.conf'),
      `Dir::Etc::sourcelist "${apt}/sources.list";\nDir::Etc::sourceparts "${apt}/parts";\nDir::State::lists "${apt}/lists";\nDir::Cache "${apt}/cache";\n`,
    );
    sources('');
  });
  after(() => folder.remove());

  const deps = (command = [join(home, 'dev'), 'deps'], env = {}) => {
    const { status, stdout, stderr } = spawnSync(command[0], command.slice(1), {
      cwd: home,
      env: cleanEnvironment({ APT_CONFIG: join(apt, 'apt.conf'), LANG: 'de_DE.UTF-8', ...env }),
      encoding: 'utf8',
      timeout: 250_000,
    });
    assert.equal(status, 1, stdout + stderr);
    assert.equal(stdout, `Installing with apt-get: ${MISSING}\n`);
    return stderr.trim().split('\n');
  };

  it('that no source has is named, with where the names come from', { skip: !isRoot && 'needs root' }, () => {
    assert.deepEqual(deps(), [
      `E: Unable to locate package ${MISSING}`,
      `dev: apt-get could not install what is missing; all it said is in ${home}/var/log/apt.log`,
      'dev: its sources lack a package. The names are those of Debian 12 and of Ubuntu 24.04 with universe',
    ]);
  });

  it('without a network the server and the reason are shown', { skip: !isRoot && 'needs root' }, () => {
    sources('deb [trusted=yes] http://127.0.0.1:1/debian bookworm main\n');
    const lines = deps();
    assert.match(lines[0], /^W: Failed to fetch http:\/\/127\.0\.0\.1:1\/debian\S* .*Could not connect/);
    assert.match(lines.at(-1), /^dev: its servers cannot be reached: is there a network\?/);
    assert.match(readFileSync(join(home, 'var/log/apt.log'), 'utf8'), /^Err:1 http:\/\/127\.0\.0\.1:1\//m);
  });

  it('without root and without sudo the line is on the terminal, too', { skip: !isRoot && 'needs root, to become somebody else' }, () => {
    const bin = join(folder.dir, 'bin'); // what is on PATH, without sudo
    mkdirSync(bin);
    spawnSync('sh', ['-c', `ln -s /usr/bin/* "${bin}/" && rm -f "${bin}/sudo" && chown -R ${NOBODY} "${folder.dir}"`]);
    const command = ['/usr/bin/setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', join(home, 'dev'), 'deps'];
    assert.deepEqual(deps(command, { PATH: bin }), ['dev: installing packages needs root: run this as root, or install sudo']);
  });
});
