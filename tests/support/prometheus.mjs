// SPDX-License-Identifier: MIT
//
// prometheus: a real Prometheus (tests/prometheus.sh) that scrapes nodes of a test each second.
//
//   const prometheus = await startPrometheus(cluster.nodes, { rules: 'deploy/monitoring/alerts.yml', hasten: (text) => … });
//   if (prometheus.missing) return t.skip(prometheus.missing);
//   await prometheus.query('sum(parley_threads)')     // [{metric, value: [time, text]}]
//   await prometheus.alerts()                         // [{labels, state, annotations}]
//   await prometheus.stop();
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, ROOT } from './node.mjs';
import { adopt, exited, freePort } from './redis.mjs';

const STARTUP_MS = 60_000;

// {bin} with the folder of the programs, or {missing} that says why there is none.
export function findPrometheus() {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'tests/prometheus.sh'), { encoding: 'utf8' });
  if (status === 3) return { missing: stderr.trim() };
  assert.equal(status, 0, stderr);
  return { bin: stdout.trim() };
}

// Fails unless promtool accepts the file. kind: config or rules.
export function checkWithPromtool(bin, kind, file) {
  return execFileSync(join(bin, 'promtool'), ['check', kind, file], { encoding: 'utf8', cwd: ROOT });
}

class Prometheus {
  constructor(url, child, folder) {
    [this.url, this.child, this.folder, this.log] = [url, child, folder, ''];
    child.stderr.on('data', (chunk) => (this.log += chunk));
  }

  async get(path, query = {}) {
    const response = await fetch(`${this.url}${path}?${new URLSearchParams(query)}`);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text).data;
  }

  query = async (query) => (await this.get('/api/v1/query', { query })).result;
  alerts = async () => (await this.get('/api/v1/alerts')).alerts;
  targets = async () => (await this.get('/api/v1/targets')).activeTargets;

  async stop() {
    this.child.kill('SIGTERM');
    await exited(this.child, STARTUP_MS, 'prometheus');
    this.folder.remove();
  }
}

// nodes: what it scrapes, as job `parley`. rules: a file of the repository; `hasten` makes the copy that runs from its text.
export async function startPrometheus(nodes, { rules, hasten = (text) => text } = {}) {
  const { bin, missing } = findPrometheus();
  if (missing) return { missing };
  const folder = makeFolder();
  const targets = nodes.map(({ url }) => `'${new URL(url).host}'`).join(', ');
  if (rules) folder.file('rules.yml', hasten(readFileSync(join(ROOT, rules), 'utf8')));
  const config = folder.file(
    'prometheus.yml',
    `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [${rules ? 'rules.yml' : ''}]
scrape_configs:
  - job_name: parley
    static_configs: [{targets: [${targets}]}]
`,
  );
  checkWithPromtool(bin, 'config', config);
  mkdirSync(join(folder.dir, 'data'));
  const address = `127.0.0.1:${await freePort()}`;
  const child = adopt(
    spawn(
      join(bin, 'prometheus'),
      [`--config.file=${config}`, `--storage.tsdb.path=${folder.dir}/data`, `--web.listen-address=${address}`, '--web.console.templates=/nowhere', '--web.console.libraries=/nowhere', '--log.level=warn'],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    ),
  );
  const prometheus = new Prometheus(`http://${address}`, child, folder);
  const until = Date.now() + STARTUP_MS;
  for (;;) {
    const response = await fetch(`${prometheus.url}/-/ready`).catch(() => undefined);
    if (response?.ok) return prometheus;
    if (Date.now() > until || child.exitCode !== null) {
      child.kill('SIGKILL');
      throw new Error(`prometheus did not start: ${prometheus.log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
