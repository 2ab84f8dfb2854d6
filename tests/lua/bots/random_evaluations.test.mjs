// SPDX-License-Identifier: MIT
//
// What holds whatever happens to bots and their evaluations: random verbs of people who register, rotate and delete bots, of nodes
// that report outcomes, drive runs, die and come back, and of users who are deleted, beside a small model. After each step
// all keys must follow from the bots and the runs (docs/redis-keys.md), on one shard and, with runs spread, on 2 and 4. The
// seed is printed on failure; PARLEY_SEED=N runs that one alone.
import assert from 'node:assert/strict';
import { assertQueuesOfDue, dueOf, expireDue, isQueueOfDue } from '../../support/due.mjs';
import { PREFIX, random, scripts } from '../../support/lua.mjs';
import { begin, botKeys, botOf, derivedOfBots, derivedOfRuns, FAILURES, idOf, LEASE_MS, NAMES, OPEN_MAX, register, runKeys, runOf, turnOf } from '../../support/lua_bots.mjs';
import { lookOf } from '../../support/lua_rooms.mjs';
import { seedsTo } from '../../support/seeds.mjs';

const STEPS = 300;
const NODES = ['n1', 'n2', 'n3'];
const USERS = [['F', 'alice'], ['F', 'bob'], ['G', 'alice'], ['G', 'ns~eve']];
const BOTS = ['echo', 'ada', 'ns~echo'];
const DIGITS = Array.from({ length: 12 }, (_, i) => `${i.toString(16)}`.repeat(24));
const MAX = 1e12; // of account G, which is counted
const plain = (value) => Object.fromEntries(Object.entries(value?.type ? value.value : value ?? {}).map(([field, text]) => [field, String(text)]));
const whole = (bytes) => Math.ceil(bytes / 4096) * 4096;

// What the tester knows: bots by name, names of users, runs that were not deleted, the last number of each digits' runs, and what each
// node believes to hold.
class World {
  constructor(shards, seed) {
    Object.assign(this, { shards, below: random(seed), bots: {}, users: [], runs: [], last: {}, held: [], ids: 0, claims: 0 });
  }

  pick(items) {
    return items[this.below(items.length)];
  }
  // The cluster's shard is the first one.
  shardOf(evaluation) {
    return this.shards[parseInt(evaluation[0], 16) % this.shards.length];
  }
  async call(shard, verb, node = this.pick(NODES)) {
    return (await shard.turn([verb], { node, shards: this.shards.length })).replies[0];
  }
  cluster(...verb) {
    return this.call(this.shards[0], verb);
  }
  idOf(r) {
    return `${r.evaluation}-${r.run}`;
  }
  any() {
    const open = this.runs.filter(({ status }) => status === 'running');
    return this.pick(this.below(4) && open.length ? open : this.runs);
  }
  end(r, status) {
    Object.assign(r, { status, bytes: r.bytes - r.conversation.length });
  }

  // --- bots ----------------------------------------------------------------------------------------

  async register() {
    const [account, user] = this.pick(USERS);
    const bot = this.pick(BOTS);
    const again = this.below(4) === 0 && this.bots[bot];
    const given = again || { bot, namespace: bot.startsWith('ns~') ? 'ns' : '%', id: idOf(++this.ids), endpoint: this.pick(['', 'https://bot.example/']), account, user };
    const reply = await this.cluster(...register(given));
    if (again) return assert.equal(reply, `ok\n${again.generation}`) ?? 'register again';
    if (this.bots[bot] || this.users.includes(bot)) return assert.equal(reply, 'taken') ?? 'register: taken';
    assert.equal(reply, 'ok\n1');
    this.bots[bot] = { ...given, generation: 1, failures: 0, rests: false };
    return `register ${bot}`;
  }

  // A user posts, perhaps under a name that a bot would like.
  async claim() {
    const name = this.pick([...BOTS, 'alice', 'ns~eve']);
    const reply = await this.cluster('name_claim', name, lookOf(name), name.startsWith('ns~') ? 'ns' : '%', 'F', String(++this.claims));
    if (this.bots[name]) return assert.equal(reply, 'taken') ?? 'claim: taken';
    assert.equal(reply, 'ok');
    if (!this.users.includes(name)) this.users.push(name);
    return `claim ${name}`;
  }

  async change() {
    const bot = this.pick(BOTS), b = this.bots[bot];
    const verb = this.pick(['bot_rotate', 'bot_rotate', 'bot_rotate', 'bot_delete']);
    const [account, user] = b && this.below(2) ? [b.account, b.user] : this.pick(USERS);
    const isOperator = this.below(4) === 0;
    const [word, generation, ...rest] = (await this.cluster(verb, 0, bot, account, user, isOperator ? '1' : '')).split('\n');
    if (!b) return assert.equal(word, 'missing') ?? `${verb}: missing`;
    if (!isOperator && (b.account !== account || b.user !== user)) return assert.equal(word, 'forbidden') ?? `${verb}: forbidden`;
    assert.equal(word, 'ok');
    if (verb === 'bot_delete') delete this.bots[bot];
    else {
      assert.equal(Number(generation), ++b.generation);
      assert.equal(botOf(rest).isFormerGood, '1');
    }
    return `${verb} ${bot}`;
  }

  async outcome() {
    const bot = this.pick(BOTS), b = this.bots[bot];
    const isFormer = this.below(5) === 0;
    const isGood = this.below(5) === 0;
    const [word, failures, restMs] = (await this.cluster('bot_outcome', bot, b && !isFormer ? b.id : idOf(1e6), isGood ? '1' : '')).split('\n');
    if (!b || isFormer) return assert.equal(word, 'missing') ?? 'an outcome of a former bot';
    b.failures = isGood ? 0 : b.failures + 1;
    b.rests = b.failures >= FAILURES;
    delete b.tries;
    assert.deepEqual([word, Number(failures), Number(restMs) > 0], ['ok', b.failures, b.rests]);
    return `outcome of ${bot}: ${isGood}`;
  }

  // A rest ends; nodes look and try.
  async find() {
    const bot = this.pick(BOTS), b = this.bots[bot];
    if (b?.rests && this.below(2)) {
      await this.shards[0].cmd('HSET', this.shards[0].key(`bot:${bot}`), 'open_until', 1);
      b.rests = 'half';
    }
    const isCalling = this.below(2);
    const [word, may, ...rest] = (await this.cluster('bot_find', bot, isCalling ? '1' : '')).split('\n');
    if (!b) return assert.equal(word, 'missing') ?? 'find: missing';
    const circuit = { true: 'open', false: 'closed', half: 'half' }[b.rests];
    assert.deepEqual([may, botOf(rest).circuit], [circuit === 'open' ? 'rest' : circuit === 'half' && isCalling && b.tries ? 'wait' : 'go', circuit]);
    if (circuit === 'half' && isCalling) b.tries = true;
    return `find ${bot}`;
  }

  // --- runs ----------------------------------------------------------------------------------------

  async begin() {
    const evaluation = this.pick(DIGITS);
    const [account, user] = USERS[parseInt(evaluation[0], 16) % USERS.length];
    const conversation = `"${'c'.repeat(this.below(20_000))}"`;
    const isCounted = account === 'G';
    const node = this.pick(NODES);
    const former = this.runs.find((r) => r.evaluation === evaluation && r.status === 'running');
    const open = this.runs.filter((r) => r.status === 'running' && r.account === account && r.user === user && this.shardOf(r.evaluation) === this.shardOf(evaluation));
    const [word, run, fence] = (await this.call(this.shardOf(evaluation), begin({ evaluation, account, user, conversation, max: isCounted ? MAX : '' }), node)).split('\n');
    if (former) return assert.deepEqual([word, run], ['known', String(former.run)]) ?? 'begin again';
    if (open.length >= OPEN_MAX) return assert.deepEqual([word, run], ['full', 'open']) ?? 'begin: full';
    assert.deepEqual([word, Number(run)], ['begun', (this.last[evaluation] ?? 0) + 1]);
    this.last[evaluation] = Number(run);
    const r = { evaluation, run, account, user, conversation, isCounted, status: 'running', results: [], bytes: conversation.length, summary: '', fence, node };
    this.runs.push(r);
    this.held.push({ r, fence, at: 0 });
    return `begin ${this.idOf(r)}`;
  }

  // A node stores the next turn of what it believes to hold, or one that it has stored already.
  async turn() {
    if (!this.held.length) return 'nothing held';
    const mine = this.held[this.held.length - 1 - Math.min(this.below(this.held.length), this.below(this.held.length))];
    const { r } = mine;
    const again = mine.last && this.below(4) === 0;
    const isEnd = this.below(12) === 0;
    const given = again ? mine.last : {
      evaluation: r.evaluation, run: r.run, fence: mine.fence, at: mine.at, status: isEnd ? this.pick(['done', 'failed']) : 'running',
      result: isEnd && this.below(2) ? '' : `"${'r'.repeat(this.below(6000))}"`, summary: `{"n":${this.below(100)}}`,
    };
    const reply = await this.call(this.shardOf(r.evaluation), turnOf(given));
    const isThere = this.runs.includes(r) && r.fence === given.fence;
    // It changes nothing: that turn, or that end, is stored.
    const isStored = r.status === given.status && given.at + (given.result ? 1 : 0) === r.results.length && (given.result || given.status !== 'running');
    if (isThere && isStored) return assert.equal(reply, `ok\n${r.results.length}`) ?? 'a turn again';
    if (!isThere || r.status !== 'running' || given.at !== r.results.length) return assert.equal(reply, 'lost') ?? 'a turn that is lost';
    if (given.result) r.results.push(given.result);
    assert.equal(reply, `ok\n${r.results.length}`);
    Object.assign(r, { bytes: r.bytes + given.result.length, summary: given.summary });
    if (isEnd) this.end(r, given.status);
    Object.assign(mine, { at: r.results.length, last: given });
    return `turn ${given.at} of ${this.idOf(r)}: ${given.status}`;
  }

  async renew() {
    const some = this.held.filter(() => this.below(2)).slice(-20);
    for (const shard of this.shards) {
      const ours = some.filter(({ r }) => this.shardOf(r.evaluation) === shard);
      const lost = ours.filter(({ r, fence }) => !this.runs.includes(r) || r.fence !== fence || r.status !== 'running').map(({ r }) => this.idOf(r));
      const reply = await this.call(shard, ['evaluation_renew', ...ours.flatMap(({ r, fence }) => [this.idOf(r), fence])]);
      assert.deepEqual(reply.split('\n').filter(Boolean), lost);
    }
    return 'renew';
  }

  // Some nodes die: the time of what they hold passes. Then others take it.
  async take() {
    const dead = this.runs.filter(({ status }) => status === 'running').filter(() => this.below(3) === 0);
    for (const r of dead) await expireDue(this.shardOf(r.evaluation), 'evaluation_due', this.idOf(r));
    const old = this.below(4) ? undefined : this.pick(this.runs.filter(({ status }) => status !== 'running'));
    if (old) await this.shardOf(old.evaluation).cmd('ZADD', this.shardOf(old.evaluation).key('evaluations_done'), 'XX', 1, this.idOf(old));
    const taken = [];
    for (const shard of this.shards) {
      const node = this.pick(NODES);
      const isDue = [...dead, ...(old ? [old] : [])].some((r) => this.shardOf(r.evaluation) === shard);
      assert.equal(await this.call(shard, ['bots_due']), isDue ? 'evaluations' : 'none');
      const got = (await this.call(shard, ['evaluation_take', 100], node)).split('\n').filter(Boolean);
      for (let i = 0; i < got.length; i += 4) {
        const r = dead.find((one) => this.idOf(one) === got[i]);
        assert.ok(r, `${got[i]} was not due`);
        assert.ok(Number(got[i + 1]) > Number(r.fence), 'fences rise');
        Object.assign(r, { fence: got[i + 1], node });
        this.held.push({ r, fence: r.fence, at: r.results.length });
        taken.push(r);
      }
    }
    assert.equal(taken.length, dead.length);
    this.runs = this.runs.filter((r) => r !== old);
    return `take ${taken.length}`;
  }

  async read() {
    const r = this.any();
    if (!r) return 'no run';
    const [account, user] = this.below(2) ? [r.account, r.user] : this.pick(USERS);
    const isCancel = this.below(4) === 0;
    const shard = this.shardOf(r.evaluation);
    const isOwn = account === r.account && user === r.user;
    if (isCancel) {
      const reply = await this.call(shard, ['evaluation_cancel', 0, r.evaluation, r.run, account, user]);
      assert.equal(reply, !isOwn ? 'missing' : r.status === 'running' ? 'ok' : `over\n${r.status}`);
      if (reply === 'ok') this.end(r, 'cancelled');
      return `cancel: ${reply}`;
    }
    const since = this.below(r.results.length + 2);
    const [word, isMore, ...rest] = (await this.call(shard, ['evaluation_read', 0, r.evaluation, r.run, account, user, since])).split('\n');
    if (!isOwn) return assert.equal(word, 'missing') ?? 'read: missing';
    assert.deepEqual([word, isMore, runOf(rest).status, runOf(rest).summary, rest.slice(13)], ['ok', '0', r.status, r.summary, r.results.slice(since)]);
    const [loaded, ...state] = (await this.call(shard, ['evaluation_load', r.evaluation, r.run, r.fence])).split('\n');
    assert.deepEqual([loaded, state[13]], r.status === 'running' ? ['ok', r.conversation] : ['lost', undefined]);
    return 'read';
  }

  async list() {
    const [account, user] = this.pick(USERS);
    const ids = [];
    for (const shard of this.shards) {
      for (let cursor = ''; ;) {
        const [, next, ...rest] = (await this.call(shard, ['evaluation_list', 0, user, account, 3, cursor])).split('\n');
        for (let i = 0; i < rest.length; i += 14) ids.push(runOf(rest.slice(i + 1)).id);
        if (!(cursor = next)) break;
      }
    }
    assert.deepEqual(ids.sort(), this.runs.filter((r) => r.account === account && r.user === user).map((r) => this.idOf(r)).sort());
    return 'list';
  }

  async forget() {
    const [, user] = this.pick(USERS);
    let n = 0;
    for (const shard of this.shards) n += Number((await this.call(shard, ['evaluation_forget_user', user])).split('\n')[1]);
    const [word, botsN] = (await this.cluster('bot_forget_user', user)).split('\n');
    const mine = Object.values(this.bots).filter((b) => b.user === user);
    assert.deepEqual([n, word, Number(botsN)], [this.runs.filter((r) => r.user === user).length, 'done', mine.length]);
    this.runs = this.runs.filter((r) => r.user !== user);
    for (const { bot } of mine) delete this.bots[bot];
    return `forget ${user}`;
  }

  async go() {
    const steps = [['register', 3], ['claim', 1], ['change', 2], ['outcome', 10], ['find', 4], ['begin', 6], ['turn', 14], ['renew', 2], ['take', 3], ['read', 5], ['list', 1]];
    if (this.below(60) === 0) return this.forget();
    const flat = steps.flatMap(([name, weight]) => Array(weight).fill(name));
    return this[this.pick(flat)]();
  }

  // --- what must hold ------------------------------------------------------------------------------

  async check() {
    for (const shard of this.shards) {
      const keys = Object.fromEntries(await Promise.all((await shard.names()).map(async (name) => [name, await shard.get(name)])));
      const runs = this.runs.filter((r) => this.shardOf(r.evaluation) === shard);
      const bots = shard === this.shards[0] ? Object.values(this.bots) : [];
      const own = {};
      for (const b of bots) {
        const found = keys[`bot:${b.bot}`];
        const { created, rotated, open_until, trial_until } = found;
        Object.assign(own, botKeys({ ...b, created, rotated, open_until, trial_until }));
        for (const field of ['tries', 'rests']) delete own[`bot:${b.bot}`][field];
        assert.equal(open_until !== '', b.rests !== false);
      }
      for (const r of runs) {
        const { created, updated, taken } = keys[`evaluation:${this.idOf(r)}`];
        Object.assign(own, runKeys({ ...r, created, updated, ...(taken ? { taken } : {}), bytes: r.bytes }));
      }
      const expected = { ...own, ...derivedOfBots(own, shard === this.shards[0] ? this.users : []), ...derivedOfRuns(own) };
      for (const [digits, n] of Object.entries(this.last)) if (this.shardOf(digits) === shard) expected[`evaluation_last:${digits}`] = String(n);
      const stored = {};
      for (const r of runs.filter(({ isCounted }) => isCounted)) stored[`${r.account} ${r.user}`] = (stored[`${r.account} ${r.user}`] ?? 0) + whole(r.bytes);
      for (const [whose, n] of Object.entries(stored)) if (n === 0) delete stored[whose];
      for (const [whose, n] of Object.entries({ ...stored })) stored[whose.split(' ')[0]] = (stored[whose.split(' ')[0]] ?? 0) + Math.ceil(n / 65_536) * 65_536;
      if (Object.keys(stored).length) expected.stored = stored;
      const names = Object.keys(keys).filter((name) => !['meta', 'names_n'].includes(name) && !name.startsWith('name_uses:') && !isQueueOfDue(name));
      assertQueuesOfDue(keys);
      assert.deepEqual(names.sort(), Object.keys(expected).sort(), 'keys');
      for (const [name, value] of Object.entries(expected)) {
        if (name.startsWith('evaluation_due:') || name === 'evaluations_done') assert.deepEqual(Object.keys(keys[name].value).sort(), Object.keys(value.value).sort(), name);
        else if (typeof value === 'string') assert.equal(keys[name], value, name);
        else assert.deepEqual(plain(keys[name]), plain(value), name);
      }
      for (const ms of Object.values(dueOf(keys, 'evaluation_due'))) assert.ok(Number(ms) <= Date.now() + LEASE_MS * 2 ** 9);
    }
  }
}

scripts('random verbs of bots and their evaluations', ({ test, shard }) => {
  const seeds = seedsTo(2);
  for (const n of [1, 2, 4]) for (const seed of seeds) {
    test(`a bot is its registrant's, and each turn of a run is stored once (${n} shards, seed ${seed})`, async () => {
      const others = Array.from({ length: n - 1 }, (_, i) => shard.at(PREFIX.replace('0', i + 1)));
      const world = new World([shard, ...others], seed);
      const steps = [];
      try {
        for (let i = 0; i < STEPS; i++) {
          steps.push('(broke)');
          steps[i] = await world.go();
          await world.check();
        }
        assert.ok(world.runs.length + Object.keys(world.last).length > 5, 'there were runs');
      } catch (error) {
        console.error(`PARLEY_SEED=${seed}, ${n} shards, after step ${steps.length}: …${steps.slice(-12).join(', ')}`);
        throw error;
      } finally {
        for (const other of others) other.ears.close();
      }
    });
  }
});
