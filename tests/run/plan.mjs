// SPDX-License-Identifier: MIT
//
// plan: from the words of `./dev test` to jobs. A job is one file, run in a process of its own:
//
//   group, name   http, http/claim; with what is unusual in brackets: http/claim [4 shards], lua/queue/add [Redis 8]
//   kind          how it is run and read: lint, unit, replay, fuzz, node or script (kinds.mjs)
//   file          its path; of a lint check its name
//   env           variables that are set for it
//   server, tls, hiredis1   what it needs, see prepare.mjs
//   builds        {preset: [targets]} that must be built before
//   slots         how many jobs it counts as (queue.mjs)
//   limitMs       when it is interrupted, if not after the usual time (queue.mjs)
//   seconds       how long it took before: the longest begin first
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { basename } from 'node:path';
import { otherShards, worldOf } from '../support/world.mjs';
import { expectedSeconds } from './durations.mjs';

export const GROUPS = 'lint unit fuzz lua http documents workflow bots web cluster'.split(' ');
const NODE_GROUPS = GROUPS.slice(3);

// What only `./dev test nightly` runs: measurements of time, which a machine that does other things disturbs.
const NIGHTLY_ONLY = ['lua/cost'];
// Those files of the short run that also run on Redis 8: what is stored, found and deleted in vector sets.
const VECTORS = ['lua/documents/job_vectors', 'lua/documents/search', 'lua/documents/store'];
// Nightly, on each of the other servers: groups, and what of them depends on no server. What the queue and topics do runs on
// both, what each service adds on one of them, and what verbs cost only where there are vector sets.
const ON_SERVERS = {
  redis8: { groups: ['lua', 'documents'], except: /^(lua\/(bots|workflow)\/|documents\/(handbook|handbook_code|letters|no_child|no_pdftotext|oidc|oidc_provider|turns|upload|upload_blocks)$)/ },
  valkey8: { groups: ['lua'], except: /^lua\/(documents\/|cost$)/ },
};
const SERVER_NAMES = { redis8: 'Redis 8', valkey8: 'Valkey 8' };
// Nightly, on four shards of a Redis Cluster: a script that touches keys of another shard fails there.
const ON_CLUSTER = /^tests\/(http|documents|workflow|bots)\//;
const CLUSTER = { PARLEY_TEST_SHARDS: '4', PARLEY_TEST_SERVERS: '3' };
// Nightly, over HTTPS: what depends on how a node reads and writes its connections.
const ON_TLS = `http/add_wait http/bad_http http/sse http/unread http/strangers http/strangers_memory http/strangers_streams http/waits
  cluster/client_leaves cluster/next_leaves bots/room_socket workflow/websocket documents/indexing_socket`.split(/\s+/);
// Nightly: what takes Redis over TLS, and so hiredis 1, which Debian 12 has not.
const ON_HIREDIS1 = 'cluster/redis_over_tls';
// Nightly: clients that need Node 22.
const NEW_CLIENTS = ['http/openai_clients', 'http/openai_clients_responses', 'documents/mcp_conformance'];
// Nightly: programs of others that are large.
const TOOLS = ['http/anthropic_claude', 'http/openai_codex', 'http/openai_llama', 'http/openai_opencode'];
// Nightly, with ten times the kills and restarts, or the answers.
const CHAOS = ['cluster/chaos', 'cluster/rolling', 'cluster/tokens', 'cluster/batches'];
// Nightly, with the Debian package, which is built from the sources that would be released.
const RELEASE = 'cluster/release';
// A browser takes a core and more; most other jobs wait most of the time.
const WEB_SLOTS = 3;
const NIGHTLY_FUZZ_SECONDS = 60;
// For the long jobs of a nightly run.
const LONG_MS = 5_400_000;
const FUZZ_SECONDS = 5;

const filesIn = (dir, pattern) =>
  existsSync(dir) ? readdirSync(dir, { recursive: true }).map((name) => `${dir}/${name}`).filter((path) => pattern.test(path) && !path.includes('/node_modules/')).sort() : [];
const pathOf = (name) => `tests/${name}.test.mjs`;

function newJob(job) {
  const { kind, group, name, note } = job;
  const full = note ? `${name} [${note}]` : name;
  return { env: {}, builds: {}, slots: job.group === 'web' ? WEB_SLOTS : 1, ...job, group: group ?? kind, name: full, seconds: expectedSeconds(full) };
}

// A file of Node's tests. PARLEY_BIN stands for every build.
function nodeJob(path, { env = {}, note, ...more } = {}) {
  const name = path.replace(/^tests\//, '').replace(/\.test\.mjs$/, '');
  const text = readFileSync(path, 'utf8');
  const world = worldOf(path, text);
  const shards = Number(env.PARLEY_TEST_SHARDS ?? process.env.PARLEY_TEST_SHARDS ?? world.shards);
  const notes = [world.isOwn || shards === 1 ? '' : `${shards} shards`, note].filter(Boolean).join(', ');
  const builds = {};
  if (!process.env.PARLEY_BIN && !env.PARLEY_BIN && !more.hiredis1) {
    if (!/^lua\//.test(name)) builds.dev = ['parley'];
    if (/\bRELEASE_BIN\b/.test(text)) builds.release = ['parley'];
  }
  return newJob({ kind: 'node', group: name.split('/')[0], name, note: notes, file: path, env, builds, ...more });
}

const unitJob = (name) => newJob({ kind: 'unit', name: `unit/${name}`, file: `tests/unit/${name}.c`, builds: { dev: [name] } });
const replayJob = (name) => newJob({ kind: 'replay', group: 'fuzz', name: `fuzz/${name}`, fuzzName: name, file: `tests/fuzz/fuzz_${name}.c`, builds: { dev: [`fuzz_${name}`] } });
export const fuzzJob = (name, seconds) =>
  newJob({ kind: 'fuzz', name: `fuzz/${name}`, note: `${seconds} s`, file: `tests/fuzz/fuzz_${name}.c`, fuzzName: name, fuzzSeconds: seconds, builds: { fuzz: [`fuzz_${name}`] } });
// clang-tidy reads what a build has made: without waiting for it, two builds would write the same folder.
const lintJob = (name) => newJob({ kind: 'lint', name: `lint/${name}`, file: name, builds: name === 'tidy' ? { dev: ['parley'] } : {} });
const scriptJob = (path) => newJob({ kind: 'script', group: 'containers', name: path, file: path });

export const namesIn = (dir, prefix = '') => filesIn(`tests/${dir}`, new RegExp(`/${prefix}[^/]*\\.c$`)).map((path) => basename(path, '.c').slice(dir === 'fuzz' ? prefix.length : 0));
const lintChecks = (which) => execFileSync('tests/lint/run.sh', [which], { encoding: 'utf8' }).trim().split(/\s+/);
const nodeFiles = (group) => filesIn(`tests/${group}`, /\.test\.mjs$/);

function groupJobs(group) {
  if (group === 'lint') return lintChecks('--quick').map(lintJob);
  if (group === 'unit') return namesIn('unit', 'test_').map(unitJob);
  if (group === 'fuzz') return namesIn('fuzz', 'fuzz_').map(replayJob);
  if (group === 'containers') return filesIn('tests/cluster/containers', /\.test\.sh$/).map(scriptJob);
  return existsSync(`tests/${group}`) ? nodeFiles(group).map((path) => nodeJob(path)) : undefined;
}

const isNightlyOnly = ({ name }) => NIGHTLY_ONLY.includes(name);
const onRedis8 = () => VECTORS.map(pathOf).filter((path) => existsSync(path)).map((path) => nodeJob(path, { note: SERVER_NAMES.redis8, server: 'redis8' }));

// Everything, once: {jobs, unknown}, as planOf.
export function shortRun() {
  const { jobs, unknown } = planOf(GROUPS);
  return { jobs: [...jobs.filter((job) => !isNightlyOnly(job)), ...onRedis8()], unknown };
}

// What the short run leaves out.
function nightlyRun() {
  const all = NODE_GROUPS.flatMap(nodeFiles);
  const others = all.map((path) => [path, worldOf(path)]).filter(([, world]) => !world.isOwn);
  const onCluster = others.map(([path]) => path).filter((path) => ON_CLUSTER.test(path));
  const servers = Object.entries(ON_SERVERS).flatMap(([server, { groups, except }]) =>
    groups.flatMap(nodeFiles).filter((path) => !except.test(path.slice('tests/'.length, -'.test.mjs'.length))).map((path) => nodeJob(path, { note: SERVER_NAMES[server], server })));
  const known = new Set(onRedis8().map(({ name }) => name));
  return [
    ...onCluster.map((path) => nodeJob(path, { env: CLUSTER, note: 'Redis Cluster' })),
    // What others run there needs no second time on four shards of one server.
    ...others.filter(([path, world]) => otherShards(world) === 1 || !onCluster.includes(path)).map(([path, world]) => nodeJob(path, { env: { PARLEY_TEST_SHARDS: String(otherShards(world)) }, note: otherShards(world) === 1 ? '1 shard' : '' })),
    ...servers.filter(({ name }) => !known.has(name)),
    ...ON_TLS.map((name) => nodeJob(pathOf(name), { note: 'HTTPS', tls: true })),
    nodeJob(pathOf(ON_HIREDIS1), { note: 'hiredis 1', hiredis1: true }),
    ...NEW_CLIENTS.map((name) => nodeJob(pathOf(name), { note: 'newer clients', newClients: true })),
    ...TOOLS.map((name) => nodeJob(pathOf(name), { note: 'real programs', tools: true })),
    ...CHAOS.map((name) => nodeJob(pathOf(name), { note: 'ten times', env: { PARLEY_NIGHTLY: '1' }, limitMs: LONG_MS })),
    nodeJob(pathOf(RELEASE), { note: 'with its package', env: { PARLEY_NIGHTLY: '1' } }),
    ...NIGHTLY_ONLY.map((name) => nodeJob(pathOf(name))),
    ...namesIn('fuzz', 'fuzz_').map((name) => fuzzJob(name, NIGHTLY_FUZZ_SECONDS)),
    ...lintChecks('--slow').map((name) => ({ ...lintJob(name), limitMs: LONG_MS })),
  ];
}

// What one word names, or null: a group, a folder of tests, or a file.
function jobsOf(word) {
  const what = word.replace(/\/$/, '').replace(/^\.\//, '');
  const isFolder = existsSync(what) && statSync(what).isDirectory();
  const name = isFolder ? what.replace(/^tests\//, '') : what;
  if (name === 'nightly') return nightlyRun();
  if (name === 'containers' || name === 'cluster/containers') return groupJobs('containers');
  const unit = /^(?:tests\/unit\/)?(test_\w+)(?:\.c)?$/.exec(name);
  if (unit) return existsSync(`tests/unit/${unit[1]}.c`) ? [unitJob(unit[1])] : `there is no tests/unit/${unit[1]}.c`;
  const target = /^(?:tests\/fuzz\/)?fuzz_(\w+)(?:\.c)?$/.exec(name);
  if (target) return existsSync(`tests/fuzz/fuzz_${target[1]}.c`) ? [fuzzJob(target[1], FUZZ_SECONDS)] : `there is no tests/fuzz/fuzz_${target[1]}.c`;
  if (/\.test\.sh$/.test(name)) return existsSync(name) ? [scriptJob(name)] : `there is no ${name}`;
  if (/\.mjs$/.test(name)) return existsSync(name) ? [nodeJob(name)] : `there is no file ${name}`;
  if (/^[a-z][a-z0-9_/-]*$/.test(name) && groupJobs(name)) return groupJobs(name);
  return `${word} is neither a group (${GROUPS.join(' ')} nightly containers) nor a test file`;
}

// The jobs of all words, and a line for each word that names none.
export function planOf(words) {
  const jobs = [];
  const unknown = [];
  for (const word of words) {
    const found = jobsOf(word);
    if (typeof found === 'string') unknown.push(found);
    else if (found.length === 0) unknown.push(`${word}: no test found`);
    else jobs.push(...found);
  }
  return { jobs, unknown };
}
