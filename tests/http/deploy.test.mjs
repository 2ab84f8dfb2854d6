// SPDX-License-Identifier: MIT
//
// What the image and the compose file say, held against the program: accounts that it takes, variables that it knows,
// libraries that it links.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { BIN as PARLEY } from '../support/node.mjs';
import { allRoutes } from '../support/routes.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // files, settings and libraries: the same on any number of shards

const run = promisify(execFile);
const MAKE = 'deploy/make-accounts.sh';
const read = (path) => readFileSync(path, 'utf8');

async function inFolder(body) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-deploy-'));
  try {
    return await body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('deploy', () => {
  it('accounts are made once, readable by their owner alone, and the program takes them', () =>
    inFolder(async (folder) => {
      await run(MAKE, [folder]);
      const first = read(`${folder}/accounts.yaml`);
      await run(MAKE, [folder]);
      assert.equal(read(`${folder}/accounts.yaml`), first);
      for (const path of ['accounts.yaml', 'secrets/User_1']) assert.equal(statSync(`${folder}/${path}`).mode & 0o077, 0);
      assert.match(first, new RegExp(`User_1: {secret: "${read(`${folder}/secrets/User_1`)}", role: user}`));
      await run(PARLEY, ['serve', '--accounts', `${folder}/accounts.yaml`, '--check-config']);
    }));

  it('race: five containers make accounts in one volume: all read the same ones', () =>
    inFolder(async (folder) => {
      await Promise.all([1, 2, 3, 4, 5].map(() => run(MAKE, [folder])));
      const accounts = read(`${folder}/accounts.yaml`);
      for (const name of ['Frontend_1', 'User_1', 'Inference_1', 'Operator_1']) {
        assert.ok(accounts.includes(read(`${folder}/secrets/${name}`)), name);
      }
    }));

  it('secrets whose accounts were lost half way are kept', () =>
    inFolder(async (folder) => {
      await run(MAKE, [folder]);
      const secret = read(`${folder}/secrets/User_1`);
      rmSync(`${folder}/accounts.yaml`);
      mkdirSync(`${folder}/new.left`);
      await run(MAKE, [folder]);
      assert.ok(read(`${folder}/accounts.yaml`).includes(secret));
    }));

  it('every variable of the compose file is one of the command that it is given to', () => {
    const compose = read('docker-compose.yml');
    const parts = { serve: /x-redis:[^]*?(?=\nservices:)/, engine: /\n {2}engine:[^]*?(?=\n {2}\w|\n {2}#)/, ingest: /x-redis:[^]*?(?=\nx-node:)/ };
    for (const [command, part] of Object.entries(parts)) {
      const names = part.exec(compose)[0].match(/(?<!\$\{)\bPARLEY_(?!PORT)[A-Z_]+(?=:)/g);
      assert.ok(names.length > 0, command);
      const help = execFileSync(PARLEY, [command, '--help'], { encoding: 'utf8' });
      for (const name of names) assert.ok(help.includes(name), `${command} knows ${name}`);
    }
  });

  it('.env explains every setting of nodes and of the engine, with its default', async () => {
    const { stdout } = await run('perl', ['deploy/compose/settings.pl', PARLEY], { maxBuffer: 1 << 20 });
    const names = stdout.match(/^#PARLEY_\w+=/gm);
    for (const name of ['QUEUE_MAX', 'LEASE_SECONDS', 'LLM', 'SLOTS']) assert.ok(names.includes(`#PARLEY_${name}=`), name);
    assert.equal(read('.env'), stdout, 'perl deploy/compose/settings.pl build/release/parley >.env.new && mv .env.new .env');
  });

  it('nginx leads each route to nodes that run its service, and each service runs on two of them', () => {
    const nginx = read('deploy/nginx.conf');
    const compose = read('docker-compose.yml');
    const upstreams = Object.fromEntries(
      [...nginx.matchAll(/upstream (\w+) \{([^}]*)\}/g)].map(([, name, body]) => [name, body.match(/(?<=server )\w+(?=:8080)/g)]),
    );
    const map = /map \$uri \$service \{([^]*?)\n {4}\}/.exec(nginx)[1];
    const rows = [...map.matchAll(/^ *~(\S+) +(\w+);/gm)].map(([, pattern, upstream]) => [new RegExp(pattern), upstream]);
    const usual = /default +(\w+);/.exec(map)[1];
    const targets = (node) => new RegExp(`\\n {2}${node}:[^]*?PARLEY_TARGET: "([a-z,]+)"`).exec(compose)[1].split(',');
    const seen = new Set();
    for (const { service, path } of allRoutes()) {
      // Each node has the probes, and what comes with a service is where that is.
      const needed = { node: [usual], users: ['broker'], openai: ['broker'], web: ['broker'], mcp: ['documents', 'broker'] }[service] ?? [service];
      const upstream = rows.find(([pattern]) => pattern.test(path.replace(/\{\w+\}/g, 'x')))?.[1] ?? usual;
      assert.equal(upstreams[upstream].length, 2, upstream);
      for (const target of needed) {
        for (const node of upstreams[upstream]) assert.ok(targets(node).includes(target), `${path} of ${target} is at ${node}`);
        seen.add(target);
      }
    }
    assert.deepEqual([...seen].sort(), ['bots', 'broker', 'documents', 'workflow']);
  });

  it('nginx repeats a GET however long it has waited, and none whose time is over', () => {
    const [repeat, wait] = ['proxy_next_upstream_timeout', 'proxy_read_timeout'].map((name) => Number(new RegExp(`^ *${name} (\\d+)s;`, 'm').exec(read('deploy/nginx.conf'))[1]));
    assert.ok(wait > 120, 'the longest wait');
    assert.equal(repeat, wait);
  });

  it('nginx writes no URL of a request into its error log, and passes on no address that a client made up', () => {
    const server = /\n {4}server \{[^]*\n {4}\}\n/.exec(read('deploy/nginx.conf'))[0];
    assert.match(server, /^ *error_log \/dev\/stderr emerg;/m);
    assert.deepEqual(server.match(/^ *proxy_set_header X-Forwarded-For .*/gm).map((line) => line.trim()), [
      'proxy_set_header X-Forwarded-For $remote_addr;',
    ]);
  });

  it('the image installs every library that the program links', () => {
    const packages = read('deploy/packages.txt').match(/^[a-z0-9][a-z0-9.+-]*/gm);
    const needed = execFileSync('readelf', ['-d', PARLEY], { encoding: 'utf8' }).match(/(?<=\(NEEDED\).*\[)[^\]]+/g);
    assert.ok(needed.length > 10);
    const ours = needed.filter((name) => !/^(libc|libm|ld-linux.*|libasan|libubsan|libgcc_s|libpthread)\.so/.test(name));
    for (const name of ours) {
      const path = execFileSync('sh', ['-c', `ldconfig -p | sed -n 's/^\\s*${name.replace(/[.+]/g, '\\$&')} .*=> //p' | head -1`], { encoding: 'utf8' }).trim();
      const owners = ['', '/usr'].map((prefix) => {
        try {
          return execFileSync('dpkg', ['-S', prefix + path], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(':')[0];
        } catch {
          return '';
        }
      });
      const owner = owners.find((one) => one !== '')?.replace(/t64$/, '');
      // libcrypto belongs to libssl; another distribution names packages otherwise.
      if (owner && read('/etc/os-release').includes('VERSION_ID="12"')) assert.ok(packages.includes(owner), `${name} is in ${owner}`);
    }
  });
});
