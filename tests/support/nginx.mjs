// SPDX-License-Identifier: MIT
//
// nginx: a real one in front of nodes, with deploy/nginx.conf as it is, except for addresses, paths, which nodes run which
// services, and what only newer versions know (`resolve`).
//
//   const nginx = await startNginx(ports);   // of node1, node2 … of that file; {path: '/below'}: below a path that nodes do not see
//   const plain = await startNginx(ports, { config: DEFAULTS });     // that proxies and is otherwise as it comes
//   nginx.url, nginx.requests()              // each {method, path, status, upstreams} so far: the ports of nodes that were tried
//   await nginx.stop();
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, makeFolder, ROOT } from './harness.mjs';
import { adopt, exited, freePort } from './redis.mjs';

// {program, reason}: one of them is undefined.
export function findNginx() {
  const { status, stdout, stderr } = spawnSync('tests/nginx.sh', { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? { program: stdout.trim() } : { reason: stderr.trim() };
}

// How many nodes deploy/nginx.conf names.
export const nodesOfConfig = () => Math.max(...[...readConfig().matchAll(/server node(\d+):/g)].map(([, n]) => Number(n)));

// How long nginx leaves out a node that it could not reach.
export const failTimeoutMs = () => Math.max(...[...readConfig().matchAll(/fail_timeout=(\d+)s/g)].map(([, n]) => Number(n))) * 1000;

// Addresses and logs, and nothing about how it proxies.
export const DEFAULTS = `events {}
http {
    access_log /dev/stdout;
    error_log /dev/stderr warn;
    upstream nodes {
        server node1:8080;
    }
    server {
        listen 8080;
        location / {
            proxy_pass http://nodes;
        }
    }
}
`;

const readConfig = () => readFileSync(join(ROOT, 'deploy/nginx.conf'), 'utf8');

function adapt(text, dir, listen, ports, path) {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  let config = text
    .replace(/^ *include .*\n/gm, '')
    // The nodes of tests run all services, so each upstream has all of them.
    .replace(/( *server) node\d+:\d+(?: resolve)?([^;]*;)\n(?: *server node[^\n]*\n)*/g, (_, server, rest) => ports.map((port) => `${server} 127.0.0.1:${port}${rest}\n`).join(''))
    .replace('location / {', path ? `location ${path}/ {\n            rewrite ^${path}(/.*)$ $1 break;` : '$&')
    .replace(/listen \d+;/, `listen 127.0.0.1:${listen};`)
    .replace(/^(user|worker_processes) .*\n/gm, '')
    .replace(/(error_log \S+) emerg;/, '$1 warn;') // what failed, for whom a test fails
    .replace(/\/tmp\//g, `${dir}/`)
    .replace(/\/dev\/stdout/g, `${dir}/access.log`)
    .replace(/\/dev\/stderr/g, `${dir}/error.log`);
  if (!/^pid /m.test(config)) config = `pid ${dir}/nginx.pid;\n${config}`;
  const missing = temp.filter((name) => !config.includes(`${name}_temp_path`)).map((name) => `${name}_temp_path ${dir}/${name};`);
  config = config.replace('http {', `http {\n${missing.join('\n')}`);
  return `daemon off;\nworker_processes 1;\n${process.getuid() === 0 ? 'user root;\n' : ''}${config}`;
}

export async function startNginx(ports, { program = findNginx().program, path = '', config = readConfig() } = {}) {
  const folder = makeFolder();
  const listen = await freePort();
  const file = folder.file('nginx.conf', adapt(config, folder.dir, listen, ports, path));
  const child = adopt(spawn(program, ['-e', join(folder.dir, 'error.log'), '-p', folder.dir, '-c', file], { stdio: 'ignore' }));
  const read = (name) => (existsSync(join(folder.dir, name)) ? readFileSync(join(folder.dir, name), 'utf8') : '');
  try {
    await eventually(() => child.exitCode !== null || existsSync(join(folder.dir, 'nginx.pid')), { what: 'nginx runs' });
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}:\n${read('error.log')}`);
  } catch (error) {
    folder.remove();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${listen}`,
    pid: child.pid,
    requests: () =>
      [...read('access.log').matchAll(/"(\S+) (\S+) [^"]*" (\d+) \d+ \S+ (.*)$/gm)].map(([, method, path_, status, rest]) => ({
        method,
        path: path_,
        status: Number(status),
        upstreams: [...rest.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port)),
      })),
    log: () => read('error.log'),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await exited(child, 30_000, 'nginx');
      }
      folder.remove();
    },
  };
}
