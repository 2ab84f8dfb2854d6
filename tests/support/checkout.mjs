// SPDX-License-Identifier: MIT
//
// checkout: `./dev` in a folder of its own, so that what it starts has ports, a Redis and secrets of its own and
// nothing of the developer's own `./dev up` is touched. It runs the build under test and builds nothing.
//
//   const checkout = makeCheckout();
//   const { code, stdout, stderr } = await checkout.dev('up');   // in that folder, or dev('up', { cwd, env })
//   checkout.url('node1'), checkout.secret('User_1'), checkout.pid('engine'), checkout.log('engine')
//   await checkout.remove();   // `./dev down`, and all of its processes are gone
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { adopt, exited } from './redis.mjs';
import { BIN, cleanEnvironment, makeFolder, ROOT, SANITIZER } from './node.mjs';

const DEV_MS = 250_000;

export function makeCheckout() {
  const folder = makeFolder();
  const path = (...names) => join(folder.dir, ...names);
  const read = (...names) => {
    try {
      return readFileSync(path(...names), 'utf8').trim();
    } catch {
      return '';
    }
  };
  copyFileSync(join(ROOT, 'dev'), path('dev'));
  for (const name of ['docs', 'cmake', 'deploy', 'services', 'shared']) symlinkSync(join(ROOT, name), path(name));
  mkdirSync(path('build'));

  // The pid that `./dev` noted, while that process lives.
  const pid = (name) => {
    const [number, started] = read('var/run', `${name}.pid`).split(' ');
    try {
      const stat = readFileSync(`/proc/${number}/stat`, 'utf8').replace(/.*\) /s, '').split(' ');
      return stat[0] !== 'Z' && stat[19] === started ? Number(number) : undefined;
    } catch {
      return undefined;
    }
  };
  const names = () => readdirSync(path('var/run')).filter((name) => name.endsWith('.pid')).map((name) => name.slice(0, -4));
  // What `./dev` starts outlives it, so a test that ends in any way takes these processes along.
  const killAll = () => {
    for (const name of names()) if (pid(name)) process.kill(pid(name), 'SIGKILL');
  };
  process.on('exit', killAll);

  async function dev(...args) {
    const { env = {}, cwd = folder.dir } = typeof args.at(-1) === 'object' ? args.pop() : {};
    const child = adopt(spawn(path('dev'), args.map(String), { cwd, env: cleanEnvironment({ PARLEY_BIN: BIN, ...env }), stdio: ['ignore', 'pipe', 'pipe'] }));
    const said = { stdout: '', stderr: '' };
    const closed = new Promise((resolve) => child.once('close', resolve));
    for (const name of Object.keys(said)) child[name].on('data', (chunk) => (said[name] += chunk));
    const { code } = await exited(child, DEV_MS, `./dev ${args.join(' ')}`);
    await closed;
    return { code, ...said };
  }

  // A line that `./dev` has printed to be pasted into a shell, in any folder.
  const paste = (line, cwd = '/') => spawnSync('bash', ['-c', line], { cwd, env: cleanEnvironment(), encoding: 'utf8', timeout: DEV_MS }).stdout;

  const url = (name) => `http://127.0.0.1:${read('var/run', `${name}.port`)}`;
  const commandLine = (number) => {
    try {
      return readFileSync(`/proc/${number}/cmdline`, 'utf8').replaceAll('\0', ' ');
    } catch {
      return '';
    }
  };
  const log = (name) => read('var/log', `${name}.log`);
  return {
    dir: folder.dir,
    dev,
    paste,
    pid,
    log,
    commandLine: (name) => commandLine(pid(name)),
    // The pids of all engines that pull from the nodes here, no matter who started them.
    engines: () =>
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name) && commandLine(name).includes(` engine --url ${url('node1')}`))
        .map(Number),
    running: () => names().filter(pid),
    url,
    secret: (account) => read('var/secrets', account),
    async remove() {
      try {
        const down = await dev('down');
        if (down.code !== 0 || names().some(pid)) throw new Error(`./dev down left ${names()}:\n${down.stdout}${down.stderr}`);
        for (const name of readdirSync(path('var/log'))) {
          const text = read('var/log', name);
          if (SANITIZER.test(text)) throw new Error(`a sanitizer spoke in ${name}:\n${text.slice(text.search(SANITIZER))}`);
        }
      } finally {
        killAll();
        process.off('exit', killAll);
        folder.remove();
      }
    },
  };
}
