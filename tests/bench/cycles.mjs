// SPDX-License-Identifier: MIT
//
// cycles: what full cycles of a query cost Redis with one Lua library and with another one, without nodes.
//
//   node tests/bench/cycles.mjs HEAD~5 .          two commits or folders; each further one is compared with the first
//   node tests/bench/cycles.mjs --count HEAD~5 .  counts instructions with valgrind, which needs no quiet machine
//
// A cycle is add, claim, delivered, complete, check. "in turns of 20" runs each verb for 20 topics in one turn; "handed
// over" parks the poll first, so that the add makes the claim. Each library has a Redis of its own with an append-only
// file; they work in turns, a round each. Redis's time is that of its main thread (reading, scripts, file, answering),
// "scripts" is the part that INFO commandstats shows for FCALL; of each the fastest fifth of the rounds counts.
// "signed" uses up four nonces a cycle and hands over; with several shards as nodes do it, in calls of the same size: this is
// what shards cost where each Redis has as much to do as the one of a single shard. "four requests" and "two requests" have
// frontends and engines that wait: add, check, complete and claim, or add and complete alone, which wait and claim as well.
// Prints a table; asserts nothing.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { joined, lines, PREFIX, tailOf, verbWord } from '../support/lua.mjs';
import { startRedis } from '../support/redis.mjs';

const FUNCTION = 'turn_bench';
const FRAME = ['n1', 150_000, 2_000, 3, 100_000];
const TAIL = tailOf({ query: 'q'.repeat(300) });
const QUERY = JSON.stringify('q'.repeat(300));
const ANSWER = lines(`["${'a'.repeat(600)}"]`, 'null', 'null');
const NONCE = Symbol('a new nonce');
const ROUNDS = 60;
const ROUND_CYCLES = 400;

const dir = mkdtempSync(join(tmpdir(), 'parley-cycles-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));

// The library of a folder, or of a commit: its text, how many arguments each verb takes, and the words of a turn before its
// verbs.
function libraryOf(name, i) {
  let folder = resolve(name);
  if (!existsSync(join(folder, 'lua'))) {
    folder = join(dir, `source${i}`);
    mkdirSync(folder);
    execFileSync('tar', ['-x', '-C', folder], { input: execFileSync('git', ['archive', name, 'lua', 'cmake'], { maxBuffer: 1 << 28 }) });
  }
  const generated = (what) => execFileSync('perl', ['cmake/verbs.pl', what], { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 24 });
  const text = generated('--expand');
  const verbs = JSON.parse(generated('--json'));
  const argc = (name) => verbs[name].args.length + (verbs[name].nonce === 'no' ? 0 : 1);
  const frame = (shards) => {
    const words = [...FRAME, ...(text.includes('is_sharded') ? [shards] : []), ...(text.includes('fallback_ms') ? [0] : [])];
    return text.includes('settings_of') ? [words.join(' ')] : words;
  };
  // A library from before verbs were called by one word has their name and their number of arguments apart.
  const wordsOf = text.includes('called_by') ? (name, args) => [verbWord(name, args)] : (name, args) => verbWord(name, args).split(' ');
  return { text: `#!lua name=parley_bench\nlocal FUNCTION_NAME = '${FUNCTION}'\n${text}`, argc, frame, wordsOf, hasShards: 'nonce_of_add' in verbs, hasHeld: 'nonces_held' in verbs, hasRecords: verbs.delivered.lists[0]?.args.length === 2, hasAlone: text.includes('alone_n'), hasWait: text.includes('is_waiting') };
}

class Bench {
  constructor(redis, library) {
    Object.assign(this, { redis, library, topic: 0, nonces: 0 });
  }

  static async start(library, options) {
    const redis = await startRedis({ aof: true, args: ['--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0'], ...options });
    await redis.cmd('FUNCTION', 'LOAD', library.text);
    return new Bench(redis, library);
  }

  // NONCE as an argument stands for a new nonce. `alone`: nonces that are only used up; `marked`: members of those of
  // add-query. Older libraries have verbs for these.
  async turn(verbs, shards = 1, { alone = 0, marked = [] } = {}) {
    const { library } = this;
    const nonces = [];
    const newNonce = () => String(++this.nonces).padStart(16, '0');
    if (!library.hasAlone) verbs = [...Array.from({ length: alone }, () => ['nonce', NONCE]), ...marked.map((member) => ['nonce_of_add', NONCE, ...member.split(' ')]), ...verbs];
    const words = verbs.flatMap(([name, ...given]) => {
      const args = given.map((arg) => (arg === NONCE ? (nonces.push(newNonce()), nonces.length) : arg));
      while (args.length < library.argc(name)) args.push(''); // what this version takes in addition
      return [...library.wordsOf(name, args), ...args];
    });
    const isAlone = library.hasAlone && alone + marked.length > 0;
    const numbers = isAlone ? `${nonces.length} ${alone} ${marked.length}` : nonces.length;
    if (isAlone) nonces.push(...Array.from({ length: alone + marked.length }, newNonce), ...marked);
    const replies = joined(await this.redis.cmd('FCALL', FUNCTION, 1, PREFIX, ...library.frame(shards), numbers, ...nonces, ...words));
    for (const reply of replies) if (reply instanceof Error) throw reply;
    if (isAlone && replies.shift() !== '') throw new Error('a nonce was used before');
    return replies;
  }

  // Older libraries write the key of a lease with its claim.
  #delivered(claims) {
    const recordOf = this.library.hasRecords ? (topic) => [`Inference_1 ${topic} 1 n1 1`] : () => [];
    return ['delivered', ...claims.flatMap(([topic, lease]) => [`${lease} ${topic}`, ...recordOf(topic)])];
  }

  // One cycle for each of `width` new topics.
  async cycle(width, isHandedOver) {
    const topics = Array.from({ length: width }, () => `topic-${++this.topic}`);
    const claim = ['claim', 0, 'Inference_1|*', isHandedOver ? '1' : '0', '', ''];
    const each = (list, make) => this.turn(list.map(make));
    const add = (topic) => ['add', 0, topic, 'alice', 'Frontend_1', 'default', 1, 1e6, TAIL, '', '', ''];
    if (isHandedOver) await each(topics, () => claim);
    const added = await each(topics, add);
    const found = isHandedOver ? added.slice(width) : await each(topics, () => claim); // handed over: events
    const claims = found.map((text) => text.split('\n', 4).slice(2));
    await this.turn([this.#delivered(claims)]);
    const answers = await each(claims, ([topic, lease]) => ['complete', 0, topic, 1, lease, 'Inference_1', QUERY, ANSWER, '']);
    for (const answer of answers) if (!answer.startsWith('ok')) throw new Error(answer);
    await each(topics, (topic) => ['check', 0, topic, 1, '', 'brief']);
  }

  // The same, signed. With several shards a nonce is used up on its own shard, with what else goes there.
  async signedCycle(width, shards) {
    const topics = Array.from({ length: width }, () => `topic-${++this.topic}`);
    const isAlone = shards === 1;
    const own = isAlone ? NONCE : 0;
    const apart = isAlone ? {} : { alone: width };
    const mark = (topic) => topic.slice(-12).replace(/[^0-9]/g, 'a').padStart(12, 'a');
    const member = (topic) => `${topic.slice(-12).padStart(32, '0')} ${mark(topic)}`;
    // A node reports the polls that it holds with what it sends next (ADR 7).
    const held = (what) => (this.library.hasHeld ? [['nonces_held', ...topics.flatMap((topic) => [mark(topic), what])]] : []);
    await this.turn(topics.map(() => ['claim', NONCE, 'Inference_1|*', '1', '', '']), shards, isAlone ? {} : { marked: topics.map(member) });
    const added = await this.turn([...held('held'), ...topics.map((topic) => ['add', own, topic, 'alice', 'Frontend_1', 'default', 1, 1e6, TAIL, '', '', '', mark(topic)])], shards, apart);
    const claims = added.filter((text) => text.startsWith('claim')).map((text) => text.split('\n', 4).slice(2));
    if (claims.length !== width) throw new Error(`${claims.length} of ${width} were handed over`);
    await this.turn([
      ...held('answered'),
      this.#delivered(claims),
      ...claims.map(([topic, lease]) => ['complete', own, topic, 1, lease, 'Inference_1', QUERY, ANSWER, '']),
    ], shards, apart);
    await this.turn(topics.map((topic) => ['check', own, topic, 1, '', 'brief']), shards);
  }

  // The same with frontends and engines that wait: in two requests (`isShort`) or in four, each a turn.
  async waitingCycle(width, isShort) {
    const topics = Array.from({ length: width }, () => `topic-${++this.topic}`);
    const poll = ['Inference_1|*', '1', '', ''];
    const parked = isShort && this.isParked ? 0 : width;
    if (parked) await this.turn(topics.map(() => ['claim', 0, ...poll]));
    this.isParked = true;
    const waits = isShort ? '1' : '';
    const added = await this.turn(topics.map((topic) => ['add', 0, topic, 'alice', 'Frontend_1', 'default', 1, 1e6, TAIL, '', '', '', '', waits, 1e12]));
    const claims = added.slice(width).map((text) => text.split('\n', 4).slice(2));
    if (claims.length !== width) throw new Error(`${claims.length} of ${width} were handed over`);
    if (!isShort) await this.turn(topics.map((topic) => ['check', 0, topic, 1, '', 'wait']));
    const answers = await this.turn(claims.map(([topic, lease]) => ['complete', 0, topic, 1, lease, 'Inference_1', QUERY, ANSWER, '', ...(isShort ? poll : [])]));
    if (answers.filter((text) => text.startsWith('outcome')).length !== width) throw new Error('an answer without its event');
  }

  async mainThreadUs() {
    const cpu = await this.redis.info('cpu');
    return 1e6 * (Number(cpu.used_cpu_user_main_thread) + Number(cpu.used_cpu_sys_main_thread));
  }

  // [microseconds of the main thread, of FCALL] a cycle.
  async round(width, run) {
    await this.redis.cmd('FLUSHALL', 'SYNC');
    this.isParked = false;
    await this.redis.cmd('CONFIG', 'RESETSTAT');
    const before = await this.mainThreadUs();
    for (let i = 0; i < ROUND_CYCLES; i += width) await run(this, width);
    const used = (await this.mainThreadUs()) - before;
    const { cmdstat_fcall } = await this.redis.info('commandstats');
    return [used / ROUND_CYCLES, Number(/usec=(\d+)/.exec(cmdstat_fcall)[1]) / ROUND_CYCLES];
  }
}

const claimed = (bench, width) => bench.cycle(width, false);
const handedOver = (bench, width) => bench.cycle(width, true);
const signed = (shards) => (bench, width) => bench.signedCycle(width, shards);
const waiting = (isShort) => (bench, width) => bench.waitingCycle(width, isShort);
const KINDS = [
  ['four requests, turns of 8', 8, waiting(false), 'hasWait'],
  ['two requests, turns of 8', 8, waiting(true), 'hasWait'],
  ['four requests, turns of 20', 20, waiting(false), 'hasWait'],
  ['two requests, turns of 20', 20, waiting(true), 'hasWait'],
  ['claimed, in turns of 1', 1, claimed],
  ['claimed, in turns of 20', 20, claimed],
  ['handed over, in turns of 1', 1, handedOver],
  ['handed over, in turns of 20', 20, handedOver],
  ['signed, in turns of 20', 20, signed(1)],
  ['signed, several shards, 20', 20, signed(4), 'hasShards'],
  ['signed, several shards, 1', 1, signed(4), 'hasShards'],
];

// The mean of the fastest fifth.
function fastest(values) {
  const few = [...values].sort((a, b) => a - b).slice(0, Math.ceil(values.length / 5));
  return few.reduce((sum, value) => sum + value, 0) / few.length;
}

function print(kind, what, values) {
  const [first] = values;
  const shown = values.map((value, i) => (i ? `${value.toFixed(1)} (${((value / first - 1) * 100).toFixed(1)} %)` : value.toFixed(1)));
  console.log(`${kind.padEnd(28)} ${what.padEnd(26)} ${shown.join('   ')}`);
}

async function time(libraries) {
  const benches = await Promise.all(libraries.map((library) => Bench.start(library)));
  for (const [kind, width, run] of kinds) {
    const found = benches.map(() => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (let k = 0; k < benches.length; k++) {
        const i = (k + round) % benches.length;
        const used = await benches[i].round(width, run);
        if (round) found[i].push(used);
      }
    }
    for (const [at, what] of [[0, 'us of the main thread'], [1, 'us of scripts']])
      print(kind, what, found.map((rounds) => fastest(rounds.map((used) => used[at]))));
  }
  for (const bench of benches) await bench.redis.stop();
}

// Instructions of a whole redis-server that runs some cycles, less those of one that runs fewer.
async function countOne(library, width, run, n) {
  const out = join(dir, 'callgrind.out');
  const server = join(dir, 'server.sh');
  writeFileSync(server, `#!/bin/sh\nexec valgrind --tool=callgrind --collect-atstart=no --toggle-collect=processInputBuffer --callgrind-out-file=${out} redis-server "$@" 2>/dev/null\n`);
  chmodSync(server, 0o755);
  const bench = await Bench.start(library, { server });
  for (let i = 0; i < n; i += width) await run(bench, width);
  await bench.redis.cmd('SHUTDOWN', 'NOSAVE').catch(() => {});
  for (let i = 0; !existsSync(out) || !/^(totals|summary):/m.test(readFileSync(out, 'utf8')); i++) {
    if (i > 300) throw new Error('callgrind wrote nothing');
    await new Promise((done) => setTimeout(done, 100));
  }
  const total = Number(/^(?:totals|summary): (\d+)/m.exec(readFileSync(out, 'utf8'))[1]);
  rmSync(out);
  await bench.redis.stop();
  return total;
}

async function count(libraries) {
  for (const [kind, width, run] of kinds) {
    const found = [];
    for (const library of libraries) {
      const few = await countOne(library, width, run, 100);
      const many = await countOne(library, width, run, 600);
      found.push((many - few) / 500 / 1000);
    }
    print(kind, 'thousand instructions', found);
  }
}

const names = process.argv.slice(2).filter((word) => word !== '--count');
const libraries = (names.length ? names : ['HEAD', '.']).map(libraryOf);
// An older library has no verbs for some kinds.
const all = (has) => libraries.every((library) => library[has]);
const kinds = KINDS.filter(([, , , needs]) => !needs || all(needs));
await (process.argv.includes('--count') ? count : time)(libraries);
