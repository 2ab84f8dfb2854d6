// SPDX-License-Identifier: MIT
//
// docker-compose.yml and what it mounts, as files: what they say of each other, of .env and of the program must be true. The
// profiles ollama, oidc and monitoring take images that tests do not pull, so this is all that is tested of those;
// tests/cluster/containers starts the rest.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { checkWithPromtool, findPrometheus } from '../support/prometheus.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // files: the same on any number of shards

const text = (file) => readFileSync(file, 'utf8');
const { services, volumes } = parse(text('docker-compose.yml'), { merge: true });
const all = Object.entries(services);
const dependsOn = ({ depends_on: names = {} }) => (Array.isArray(names) ? names : Object.keys(names));
const mountsOf = ({ volumes: mounts = [] }) => mounts.map((mount) => mount.split(':'));
// Where a container finds a file that is mounted into it, on this machine.
function here(service, path) {
  const [from, to] = mountsOf(services[service]).find(([, target]) => path === target || path.startsWith(`${target}/`));
  return join(from, path.slice(to.length));
}
// The setting of .env: its line, even where it is commented out.
const setting = (name) => text('.env').match(new RegExp(`^#?${name}=(.*)$`, 'm'))?.[1];
const HEAD = text('.env').split('# --- Settings of `parley` ---')[0];

describe('docker-compose.yml', () => {
  it('each profile starts what its services depend on, and each service without a profile depends on none that has one', () => {
    const profiles = new Set();
    for (const [name, service] of all) {
      for (const each of service.profiles ?? []) profiles.add(each);
      for (const other of dependsOn(service)) {
        assert.ok(services[other], `${name} depends on ${other}`);
        const [profile] = services[other].profiles ?? [];
        assert.ok(profile === undefined || service.profiles?.includes(profile), `${name} depends on ${other}, of profile ${profile}`);
      }
    }
    assert.deepEqual([...profiles].sort(), ['cluster', 'monitoring', 'ollama', 'oidc'].sort());
    for (const profile of profiles) assert.match(HEAD, new RegExp(`^# {3}${profile} `, 'm'), `.env explains ${profile}`);
  });

  it('images have versions, files that are mounted are there, and volumes are declared', () => {
    for (const [name, service] of all) {
      assert.match(service.image, /:[\w.-]*\d/, name);
      for (const [from] of mountsOf(service)) {
        if (from.startsWith('.')) assert.ok(existsSync(from), `${name}: ${from}`);
        else assert.ok(from in volumes, `${name}: ${from}`);
      }
    }
  });

  it('each variable is explained in .env, with the same default', () => {
    for (const [, name, value] of text('docker-compose.yml').matchAll(/\$\{(\w+)(?::-([^}]*))?\}/g)) {
      if (name === 'COMPOSE_PROJECT_NAME') continue; // Docker's own
      assert.notEqual(setting(name), undefined, name);
      if (name !== 'PARLEY_MODEL') assert.equal(setting(name), value, name); // of the profile ollama alone
    }
  });

  it('only nginx, Keycloak, Prometheus and Grafana are reached from this machine, at PARLEY_ADDRESS', () => {
    const open = all.filter(([, { ports }]) => ports).map(([name]) => name);
    assert.deepEqual(open.sort(), ['grafana', 'keycloak', 'nginx', 'prometheus']);
    for (const name of open) for (const port of services[name].ports) assert.match(port, /^\$\{PARLEY_ADDRESS:-127\.0\.0\.1\}:/, name);
  });

  it('of the profile cluster, .env names servers that are there, and the six keep data of their own', () => {
    const [, servers] = HEAD.match(/redis\+cluster:\/\/parley:@(\S+)/);
    for (const server of servers.split(',')) assert.ok(services[server.replace(':6379', '')], server);
    const six = all.filter(([name]) => /^redis-cluster-\d$/.test(name));
    assert.equal(new Set(six.map(([name, service]) => `${name} ${mountsOf(service)[0][0]}`.split(' ')[1])).size, 6);
    for (const [name] of six) assert.match(text('deploy/compose/redis-cluster.sh'), new RegExp(`\\b${name}\\b`));
  });

  it('of the profile oidc, settings of .env are those of the realm', () => {
    const realm = JSON.parse(text(join(here('keycloak', '/opt/keycloak/data/import'), 'parley.json')));
    const port = setting('KEYCLOAK_PORT');
    assert.equal(setting('PARLEY_OIDC_ISSUER'), `http://127.0.0.1:${port}/realms/${realm.realm}`);
    assert.equal(setting('PARLEY_OIDC_JWKS_URL'), `http://keycloak:8080/realms/${realm.realm}/protocol/openid-connect/certs`);
    assert.equal(services.keycloak.environment.KC_HOSTNAME, 'http://127.0.0.1:${KEYCLOAK_PORT:-8081}');
    const [client] = realm.clients;
    assert.ok(client.publicClient && client.directAccessGrantsEnabled);
    assert.equal(setting('PARLEY_OIDC_AUDIENCE'), client.clientId); // `azp` of its tokens
    const [, id, user, password] = HEAD.match(/client_id=(\w+) -d username=(\w+) -d password=(\w+)/);
    assert.equal(id, client.clientId);
    assert.equal(realm.users.find(({ username }) => username === user).credentials[0].value, password);
  });

  it('of the profile ollama, the address that .env says is its service', () => {
    const [, address, model] = HEAD.match(/profile `ollama`: (\S+) and (\S+)\.$/m);
    assert.equal(address, 'http://ollama:11434/v1');
    assert.ok(services.ollama);
    assert.deepEqual(services['ollama-model'].entrypoint, ['ollama', 'pull', `\${PARLEY_MODEL:-${model}}`]);
  });

  it('of the profile monitoring, Prometheus asks each node, and Grafana finds it and the dashboard', () => {
    const { scrape_configs: jobs, rule_files: rules } = parse(text(here('prometheus', '/etc/parley/compose/prometheus.yml')));
    const nodes = all.filter(([, { command }]) => command?.[0] === 'serve').map(([name]) => `${name}:8080`);
    assert.deepEqual(jobs[0].static_configs[0].targets.toSorted(), nodes.toSorted());
    assert.match(text('deploy/monitoring/alerts.yml'), new RegExp(`job="${jobs[0].job_name}"`));
    for (const rule of rules) assert.ok(existsSync(here('prometheus', rule)), rule);
    const [source] = parse(text(here('grafana', '/etc/grafana/provisioning/datasources/prometheus.yml'))).datasources;
    assert.equal(source.url, 'http://prometheus:9090');
    const [provider] = parse(text(here('grafana', '/etc/grafana/provisioning/dashboards/parley.yml'))).providers;
    JSON.parse(text(here('grafana', `${provider.options.path}/dashboard.json`)));
  });

  const { bin, missing } = findPrometheus();
  it('promtool accepts the configuration of Prometheus', { skip: missing ?? false }, () => {
    const folder = mkdtempSync('promtool-');
    try {
      const file = join(folder, 'prometheus.yml');
      writeFileSync(file, text('deploy/compose/prometheus.yml').replaceAll(/\/etc\/parley\S+/g, (path) => join(process.cwd(), here('prometheus', path))));
      assert.match(checkWithPromtool(bin, 'config', file), /SUCCESS: 1 rule files found/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
