// SPDX-License-Identifier: MIT
//
// What holds whatever happens to runs: random verbs of nodes that drive, die and come back, of people who answer and echo,
// and of users who are deleted, beside a small model of what must have become of each run. After each step all keys
// must follow from the runs and questions (docs/redis-keys.md), on one shard and, with sessions spread, on 2 and 4. The
// seed is printed on failure; PARLEY_SEED=N runs that one alone.
import assert from 'node:assert/strict';
import { assertQueuesOfDue, expireDue, isQueueOfDue, whenDue } from '../../support/due.mjs';
import { PREFIX, random, scripts } from '../../support/lua.mjs';
import { answer, answerOf, begin, derived, FILE, OVER, pass, step } from '../../support/lua_workflow.mjs';
import { seedsTo } from '../../support/seeds.mjs';

const STEPS = 300;
const NODES = ['n1', 'n2', 'n3'];
const ACCOUNTS = ['F', 'G', 'H'];
const USERS = ['alice', 'bob'];
const SESSIONS = Array.from({ length: 5 }, (_, i) => ({ session: `${i}`.repeat(32), account: ACCOUNTS[i % 2], user: USERS[i % 2 || i % 3 ? 0 : 1] }));
const KEEP_MS = 1e9;
const MAX = 1e12; // of one account, which is counted: G

// What the tester knows: runs {session, run, fences (by number: who got it), fence, status, step, frames, records,
// answers, ids, question}, and what each node believes to hold.
class World {
  constructor(shards, seed) {
    Object.assign(this, { shards, below: random(seed), runs: [], held: [], requests: 0, fence: new Map(), calls: new Map() });
  }

  pick(items) {
    return items[this.below(items.length)];
  }
  shardOf(session) {
    return this.shards[parseInt(session[0], 16) % this.shards.length];
  }
  idOf(r) {
    return `${r.session}.${r.run}`;
  }
  // A run of the model, mostly one that is open.
  any() {
    const open = this.runs.filter(({ status }) => !OVER.includes(status));
    return this.pick(this.below(4) && open.length ? open : this.runs);
  }
  // Of a waiting run.
  waits() {
    return this.pick(this.runs.filter(({ status }) => status === 'waiting'));
  }
  async turn(session, verbs, node = this.pick(NODES)) {
    return (await this.shardOf(session).turn(verbs, { node, shards: this.shards.length })).replies;
  }
  lease(r, fence, node) {
    Object.assign(r, { fence: String(fence), node });
    this.held.push({ r, fence: String(fence), step: r.step });
  }

  // --- steps ---------------------------------------------------------------------------------------

  async begin() {
    const s = this.pick(SESSIONS);
    const known = this.below(5) === 0 && this.pick(this.runs.filter((r) => r.session === s.session));
    const request = known ? this.pick(known.ids) : `r${++this.requests}`;
    const node = this.pick(NODES);
    const version = this.pick(['v1', 'v2']);
    let [reply] = await this.turn(s.session, [begin({ ...s, request, version, file: '', max: s.account === 'G' ? MAX : '' })], node);
    if (reply === 'version') [reply] = await this.turn(s.session, [begin({ ...s, request, version, max: s.account === 'G' ? MAX : '' })], node);
    const [word, run, fence] = reply.split('\n');
    if (known) {
      assert.deepEqual([word, run], ['known', known.run]);
      return 'begin again';
    }
    assert.equal(word, 'begun');
    const r = { ...s, run, version, status: 'running', step: 0, frames: [], records: [], answers: [], ids: [request], questions: {}, bytes: 7, log: 0 };
    this.runs.push(r);
    this.lease(r, fence, node);
    return `begin ${this.idOf(r)}`;
  }

  // A node takes the next step of what it believes to hold, or one that it has taken already.
  async step() {
    if (!this.held.length) return 'nothing held';
    const at = this.held.length - 1 - Math.min(this.below(this.held.length), this.below(this.held.length));
    const mine = this.held[at];
    const { r } = mine;
    const isGone = !this.runs.includes(r);
    const again = mine.last && this.below(4) === 0;
    const status = this.pick(['running', 'running', 'waiting', 'waiting', 'approved', 'done', this.pick(OVER)]);
    const n = mine.step + 1;
    const hasFrame = this.below(4) > 0;
    const approvers = [...new Set(Array.from({ length: 1 + this.below(3) }, () => this.pick(['a.F', 'a.G', 'a.H', 'r.boss', 'r.F'])))];
    const given = again ? mine.last : {
      session: r.session, run: r.run, fence: mine.fence, step: n, status, body: `{"n":"${'x'.repeat(this.below(3000))}"}`,
      frame: hasFrame ? `{"f":"${'y'.repeat(this.below(5000))}"}` : '', quorum: status === 'waiting' ? 1 + this.below(2) : '',
      isSelf: this.below(3) > 0, deadline: status === 'waiting' ? this.pick(['', 0, 1e9]) : '', approvers: status === 'waiting' ? approvers : [],
    };
    const call = step(given);
    const [reply] = await this.turn(r.session, [call]);
    if (!isGone && r.stepped === `${given.fence} ${given.step}`) {
      assert.equal(reply, `ok\n${r.frames.length}`);
      return 'a step again';
    }
    const isDriver = !isGone && r.fence === given.fence && ['running', 'approved'].includes(r.status) && given.step === r.step + 1;
    if (!isDriver) {
      assert.equal(reply, 'lost');
      return 'a step that is lost';
    }
    const [, , , , , , , agent, , body, frame, record, question] = call;
    if (frame) r.frames.push(frame);
    r.records.push(record);
    assert.equal(reply, `ok\n${r.frames.length}`);
    Object.assign(r, { status: given.status, step: given.step, stepped: `${given.fence} ${given.step}`, agent });
    r.bytes += frame.length + record.length;
    r.log += record.length;
    Object.assign(mine, { step: given.step, last: given });
    if (r.status === 'waiting') {
      r.bytes += question.length + body.length;
      r.question = given.step;
      r.questions[given.step] = { status: 'open', by: [], approvals: 0, quorum: given.quorum, approvers, isSelf: given.isSelf, deadline: given.deadline };
    }
    return `step ${given.step} of ${this.idOf(r)}: ${given.status}`;
  }

  async renew() {
    const some = this.held.filter(() => this.below(2)).slice(-20);
    for (const shard of this.shards) {
      const ours = some.filter(({ r }) => this.shardOf(r.session) === shard);
      const lost = ours.filter(({ r, fence }) => !this.runs.includes(r) || r.fence !== fence || !['running', 'approved'].includes(r.status)).map(({ r }) => this.idOf(r));
      const [reply] = (await shard.turn([['workflow_renew', ...ours.flatMap(({ r, fence }) => [this.idOf(r), fence])]])).replies;
      assert.deepEqual(reply.split('\n').filter(Boolean), lost);
    }
    return 'renew';
  }

  // Some nodes die: the time of what they hold passes. Then others take it.
  async take() {
    const dead = this.runs.filter(({ status }) => ['running', 'approved'].includes(status)).filter(() => this.below(3) === 0);
    for (const r of dead) await expireDue(this.shardOf(r.session), 'wf_due', this.idOf(r));
    const due = [...dead, ...this.runs.filter((r) => r.status === 'waiting' && r.questions[r.question].deadline === 0)];
    const taken = [];
    for (const shard of this.shards) {
      const node = this.pick(NODES);
      const dueAt = new Map();
      for (const r of this.runs) dueAt.set(r, await whenDue(shard, 'wf_due', this.idOf(r)));
      const [reply] = (await shard.turn([['workflow_take', 100, KEEP_MS]], { node })).replies;
      const now = Number((await shard.cmd('TIME'))[0]) * 1000 + 1000;
      const isLate = (r) => (dueAt.get(r) ?? Infinity) <= now; // this machine is slow: a lease has ended by itself
      const got = reply.split('\n').filter(Boolean);
      for (let i = 0; i < got.length; i += 5) {
        const r = due.find((one) => this.idOf(one) === got[i]) ?? this.runs.find((one) => this.idOf(one) === got[i] && isLate(one));
        assert.ok(r, `${got[i]} was not due`);
        taken.push(r);
        this.lease(r, got[i + 1], node);
      }
    }
    // A waiting run that was taken is due again after the lease only.
    for (const r of due) assert.ok(taken.includes(r) || r.wasTaken, `${this.idOf(r)} was due`);
    for (const r of taken) if (r.status === 'waiting') r.wasTaken = r.step;
    return `take ${taken.length}`;
  }

  async answer() {
    const r = this.below(4) ? this.waits() ?? this.any() : this.any();
    if (!r) return 'nobody asked';
    const n = this.below(6) ? r.question ?? 1 : 1 + this.below(r.step + 2);
    const q = r.questions[n];
    const account = this.pick(ACCOUNTS);
    const user = this.pick([...USERS, 'zoe']);
    const as = [`a.${account}`, this.pick(['r.user', 'r.boss'])];
    const isDeadline = this.below(6) === 0;
    const isApproved = this.below(4) > 0;
    const corrections = this.below(2) ? `{"x":"${'z'.repeat(this.below(2000))}"}` : '';
    const call = isDeadline ? pass({ ...r, step: n, isApproved }) : answer({ ...r, step: n, account, user, as, isApproved, corrections });
    const node = this.pick(NODES);
    const [reply] = await this.turn(r.session, [call], node);
    const [word, detail] = reply.split('\n');
    const what = `answer to ${this.idOf(r)}.${n}: ${word}`;
    if (!q) return assert.equal(word, 'missing') ?? what;
    const isAllowed = q.approvers.some((who) => as.includes(who)) && (q.isSelf || (account !== r.account && user !== r.user));
    const isLate = q.deadline === 0;
    if (!isDeadline && !isAllowed) return assert.equal(word, 'forbidden') ?? what;
    if (q.status !== 'open') return assert.deepEqual([word, detail], ['closed', q.who]) ?? what;
    if (isDeadline && !isLate) return assert.equal(word, 'early') ?? what;
    if (!isDeadline && isLate) return assert.deepEqual([word, detail], ['closed', 'null']) ?? what;
    if (!isDeadline && q.by.includes(account)) return assert.equal(word, 'again') ?? what;
    const kept = { step: n, how: isDeadline ? 'deadline' : 'http', isApproved, who: isDeadline ? 'null' : `{"account":"${account}"}`, corrections: (!isDeadline && corrections) || 'null' };
    r.answers.push({ n, text: (ms) => answerOf({ ...kept, ms }) });
    const bytes = answerOf({ ...kept, ms: 1e12 }).length;
    r.bytes += bytes;
    r.log += bytes;
    q.answers = (q.answers ?? 0) + 1;
    if (!isDeadline) q.by.push(account);
    if (!isDeadline && isApproved) q.approvals++;
    if (!isDeadline && isApproved && q.approvals < q.quorum) {
      assert.equal(reply, `counted\n${q.approvals}\n${q.quorum}`);
      return what;
    }
    assert.equal(word, 'decided');
    Object.assign(q, { status: isDeadline ? 'expired' : isApproved ? 'approved' : 'rejected', who: kept.who });
    r.approved ||= q.status === 'approved';
    r.status = r.approved ? 'approved' : 'running';
    delete r.wasTaken;
    this.lease(r, detail, node);
    return what;
  }

  async echo() {
    const { session } = this.pick(SESSIONS);
    const waiting = this.runs.filter((r) => r.session === session && r.status === 'waiting');
    const known = this.below(4) === 0 && this.pick(this.runs.filter((r) => r.session === session));
    const request = known ? this.pick(known.ids) : `e${++this.requests}`;
    const [word, run, n] = (await this.turn(session, [['workflow_echo', session, request]]))[0].split('\n');
    if (known && known.status !== 'waiting') return assert.deepEqual([word, run], ['known', known.run]) ?? 'echo: known';
    if (!known && !waiting.length) return assert.equal(word, 'none') ?? 'echo: none';
    const r = waiting.find((one) => one.run === run);
    assert.equal(word, 'ok');
    assert.equal(Number(n), r.question);
    if (known) assert.equal(r, known);
    else {
      r.ids.push(request);
      r.bytes += 2 * request.length;
    }
    r.request = request;
    return `echo to ${run}`;
  }

  async load() {
    const r = this.any();
    if (!r) return 'no run';
    const [loaded, found, watched] = await this.turn(r.session, [['workflow_load', r.session, r.run], ['workflow_find', r.session, this.pick(r.ids)], ['workflow_watch', r.session, this.pick(r.ids), 0]]);
    const got = loaded.split('\n');
    assert.deepEqual([got[1], Number(got[6]), Number(got[7]), got[8]], [r.status, r.step, r.frames.length, r.fence]);
    const q = r.questions[r.question];
    assert.deepEqual([got[15], got[16]], q ? [String(r.question), q.status] : ['', '']);
    if (q) assert.equal(JSON.parse(got[21]).length, q.answers ?? 0);
    assert.equal(found, ['ok', r.run, r.status, r.frames.length, r.question ?? ''].join('\n'));
    assert.deepEqual(watched.split('\n').slice(5), r.frames, 'every frame once, in order');
    return 'load';
  }

  async forget() {
    const over = this.runs.filter(({ status }) => OVER.includes(status));
    if (this.below(3)) {
      // Runs that ended long ago.
      const r = this.pick(over);
      if (!r) return 'none is over';
      const shard = this.shardOf(r.session);
      await shard.cmd('ZADD', shard.key('wf_done'), 'XX', 1, this.idOf(r));
      await shard.turn([['workflow_take', 0, KEEP_MS]]);
      this.runs = this.runs.filter((one) => one !== r);
      return `old ${this.idOf(r)}`;
    }
    if (this.below(6)) return 'nothing';
    const user = this.pick(USERS);
    for (const shard of this.shards) while ((await shard.call('workflow_delete', 0, user)).startsWith('more'));
    this.runs = this.runs.filter((r) => r.user !== user);
    return `delete ${user}`;
  }

  go() {
    return this[this.pick(['begin', 'begin', 'step', 'step', 'step', 'step', 'step', 'renew', 'take', 'answer', 'answer', 'answer', 'echo', 'load', 'forget'])]();
  }

  // --- what must hold ------------------------------------------------------------------------------

  async check() {
    for (const shard of this.shards) await this.checkShard(shard, this.runs.filter((r) => this.shardOf(r.session) === shard));
  }

  async checkShard(shard, runs) {
    const names = (await shard.names()).filter((name) => name !== 'meta');
    const keys = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await shard.get(name)])));
    assert.deepEqual(names.filter((name) => name.startsWith('wfr:')), runs.map((r) => `wfr:${this.idOf(r)}`).sort(), 'the runs');
    const stored = {};
    for (const r of runs) this.checkRun(keys, r, stored);
    this.checkDerived(keys, stored);
  }

  checkRun(keys, r, stored) {
    const id = this.idOf(r);
    const { status, step: n, seq, fence, ids, questions, bytes, log, is_counted: isCounted, request_id: request, verb, approved } = keys[`wfr:${id}`];
    assert.deepEqual([status, Number(n), Number(seq), fence, ids, verb], [r.status, r.step, r.frames.length, r.fence, r.ids.join(' '), 'RULE'], id);
    assert.equal(approved, r.approved ? '1' : undefined, `${id}: approved`);
    assert.equal(request, r.request ?? r.ids[0], `${id}: the id of its frames`);
    assert.equal(questions, Object.keys(r.questions).join(' '), `${id}: its questions`);
    // Times of answers have as many digits as this one.
    assert.deepEqual([Number(bytes), Number(log)], [r.bytes, r.log], `${id}: bytes`);
    assert.equal(isCounted, r.account === 'G' ? '1' : undefined);
    if (isCounted) stored[`${r.account} ${r.user}`] = (stored[`${r.account} ${r.user}`] ?? 0) + Math.ceil(r.bytes / 4096) * 4096;
    assert.deepEqual(keys[`wff:${id}`]?.value ?? [], r.frames, `${id}: frames`);
    assert.deepEqual(keys[`wfs:${id}`]?.value ?? [], r.records, `${id}: records`);
    const found = keys[`wfa:${id}`]?.value ?? [];
    assert.deepEqual(found, r.answers.map(({ text }, i) => text(found[i] && JSON.parse(found[i]).timestamp)), `${id}: answers, as they were given`);
    for (const [step_, q] of Object.entries(r.questions)) {
      const is = keys[`wfq:${id}.${step_}`];
      assert.deepEqual([is.status, Number(is.approvals), Number(is.answers)], [q.status, q.approvals, q.answers ?? 0], `${id}.${step_}`);
      assert.deepEqual(Object.keys(is).filter((field) => field.startsWith('by:')).sort(), q.by.map((account) => `by:${account}`).sort());
      assert.equal(is.status === 'open', r.status === 'waiting' && Number(step_) === r.question, `${id}.${step_}: open and waiting`);
    }
  }

  // All other keys follow from these.
  checkDerived(keys, stored) {
    const plain = (value) => (value && value.type ? Object.fromEntries(Object.entries(value.value).map(([member, score]) => [member, Number(score)])) : Object.fromEntries(Object.entries(value).map(([field, text]) => [field, String(text)])));
    assertQueuesOfDue(keys);
    const expected = derived(keys, { text: FILE });
    for (const [name, value] of Object.entries(expected)) {
      const want = plain(value), is = plain(keys[name] ?? {});
      if (name.startsWith('wf:')) {
        // Which run was last is not known once it is deleted; questions of one millisecond may be in any order.
        const sorted = ({ waiting = '', ...rest }) => ({ ...rest, last: 0, waiting: waiting.split(' ').sort().join(' ') });
        assert.ok(Number(is.last) >= Number(want.last), name);
        assert.deepEqual(sorted(is), sorted(want), name);
      } else if (name.startsWith('wf_due:')) {
        assert.deepEqual(Object.keys(is).sort(), Object.keys(value.value).sort(), 'what is due');
      } else if (name === 'wf_done' || name.startsWith('wf_file:')) {
        assert.deepEqual(Object.keys(is).sort(), Object.keys(want).sort(), name);
        if (name !== 'wf_done') assert.equal(is.runs, want.runs, name);
      } else {
        assert.deepEqual(is, want, name);
      }
    }
    const rest = Object.keys(keys).filter((name) => !expected[name] && !isQueueOfDue(name) && !/^(wf[rqfsaw]:|wf_file:|wf_files$|stored$)/.test(name));
    assert.deepEqual(rest, [], 'keys that belong to nothing');
    for (const name of Object.keys(keys).filter((one) => /^wf[qfsa]:/.test(one))) assert.ok(keys[`wfr:${name.slice(4).split('.').slice(0, 2).join('.')}`], `${name} belongs to no run`);
    for (const name of Object.keys(keys).filter((one) => one.startsWith('wf_file:') && !expected[one])) assert.equal(keys[name].runs, '0', name);
    const sums = { ...stored };
    for (const [whose, n] of Object.entries(stored)) sums[whose.split(' ')[0]] = (sums[whose.split(' ')[0]] ?? 0) + Math.ceil(n / 65_536) * 65_536;
    assert.deepEqual(Object.fromEntries(Object.entries(keys.stored ?? {}).map(([field, n]) => [field, Number(n)])), sums, 'stored');
  }
}

scripts('random verbs of runs', ({ test, shard }) => {
  const seeds = seedsTo(2);
  for (const n of [1, 2, 4]) for (const seed of seeds) {
    test(`a run has one driver, and each frame and answer is stored once (${n} shards, seed ${seed})`, async () => {
      const others = Array.from({ length: n - 1 }, (_, i) => shard.at(PREFIX.replace('0', i + 1)));
      const world = new World([shard, ...others], seed);
      const steps = [];
      try {
        for (let i = 0; i < STEPS; i++) {
          steps.push('(broke)');
          steps[i] = await world.go();
          await world.check();
        }
      } catch (error) {
        console.error(`PARLEY_SEED=${seed}, ${n} shards, after step ${steps.length}: …${steps.slice(-12).join(', ')}`);
        throw error;
      } finally {
        for (const other of others) other.ears.close();
      }
    });
  }
});
