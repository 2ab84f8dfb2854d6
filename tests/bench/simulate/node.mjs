// SPDX-License-Identifier: MIT
//
// node: one thread of a virtual node: the calls that shared/queue makes of Redis, with its timers, and nothing else of a node. Its
// engines and clients (load.mjs) call poll, add and answer. Turns, syncs, credits, hints, moves, confirmations and reaps are as in
// timers.c, poll.c, poll_credits.c, poll_move.c and deliver.c; polls have one class, by token, without names.
import { joined, verbWord } from '../../support/lua.mjs';
import { prefixesOf, shardOf } from '../../support/shards.mjs';
import { eventsOf } from './link.mjs';

// As long as those of real nodes.
const INFO = '{"version":"0.1.0","address":"http://10.10.10.10:8080","host":"vm","pid":12345}';
const SETTINGS =
  'lease-seconds=150 delivery-seconds=2 max-attempts=3 queue-max=100000 retention-days=0 auth-sha1=on body-max-bytes=1048576 model-fallback-seconds=30 cors-origins=%2A ' +
  'owner-max-mib=500 public-collection=public public-max-waiting=200 ask-seconds=25 upload-max-mib=25 openai-body-mib=4 durability=none';
const CLASS = 'Inference_1|*';
const LEASE_MS = 150_000;
const DELIVERY_MS = 2000;
const FALLBACK_MS = 30_000;
const NEWS_MS = 1000;
const REAP_AFTER_MS = 20;
const UNEVEN_CREDITS = 1;
const PURGE_MS = 60_000;
const LATELY_MS = 60_000;

export class VirtualNode {
  constructor(world, id) {
    Object.assign(this, { world, id, clock: world.clock, shards: world.shards });
    this.settings = [id, LEASE_MS, DELIVERY_MS, 3, 1_000_000, this.shards, FALLBACK_MS].join(' ');
    this.rescanMs = this.shards === 1 ? 5000 : 1000;
    this.phase = shardOf(id, 65_536) * 17;
    this.parts = prefixesOf(this.shards).map((prefix, number) => ({
      number, prefix, verbs: [], paceMs: 0, syncedMs: 0, credits: 0, claims: 0, openN: 0, isHinted: false, isReported: false, isStated: true,
      added: 0, done: 0, lease: '', engines: new Map(), unconfirmed: [], coveredMs: 0, isSyncing: false, isUp: true, epoch: 0, runMs: 0, timers: {},
    }));
    this.parked = []; // engines, oldest first
    this.moving = 0;
    this.rotor = 0;
    this.engineReportedMs = -Infinity;
    this.isFlushing = false;
    this.isUp = true; // false: it has died
    this.waiting = new Map(); // "<topic> <seq>" -> callback of its outcome
  }

  // --- calls ---

  count(name, n = 1) {
    this.world.counts[name] = (this.world.counts[name] ?? 0) + n;
  }

  verb(part, name, args, onReply) {
    part.verbs.push({ name, args, onReply });
    if (this.isFlushing) return;
    this.isFlushing = true;
    setImmediate(() => {
      this.isFlushing = false;
      for (const one of this.parts) if (one.verbs.length) this.flush(one);
    });
  }

  flush(part) {
    if (!this.isUp || !part.isUp) return this.fail(part.verbs.splice(0));
    const [now, epoch] = [this.clock.now(), part.epoch];
    this.confirm(part, now - DELIVERY_MS / 5);
    const hasNews = part.added + part.done + part.engines.size > 0;
    if (hasNews && now >= part.syncedMs + NEWS_MS) this.sync(part);
    const verbs = part.verbs.splice(0);
    const words = ['FCALL', this.world.functionName, 1, part.prefix, this.settings, 0];
    for (const { name, args } of verbs) {
      words.push(verbWord(name, args), ...args);
      this.count(`verb ${name}`);
    }
    this.world.noteCall(part.number, now);
    // A connection keeps its order: no call overtakes one that a slow server has not run yet.
    const at = (part.runMs = Math.max(part.runMs, now + (this.world.delays.get(part.number) ?? 0)));
    const send = () => this.world.links.call(part.number, words).then((reply) => this.onReply(part, epoch, verbs, joined(reply)), () => this.fail(verbs));
    if (at > now) this.clock.after(at - now, send);
    else send();
  }

  fail(verbs) {
    for (const { onReply } of verbs) onReply?.(null);
  }

  // epoch: of its connection. What a lost one would have brought does not come.
  onReply(part, epoch, verbs, texts) {
    if (!this.isUp || epoch !== part.epoch) return this.fail(verbs);
    verbs.forEach(({ name, onReply }, i) => {
      if (texts[i] instanceof Error) throw new Error(`${name}: ${texts[i].message}`);
      onReply?.(texts[i]);
    });
    for (const event of texts.slice(verbs.length)) this.onEvent(part, event);
  }

  onEvent(part, event) {
    const [kind, ...rest] = event.split('\n');
    if (kind === 'claim') this.handOver(part, event, true);
    else if (kind === 'taken') this.handOver(part, event.slice(6), false);
    else if (kind === 'open') part.openN = Number(rest[0]);
    else if (kind === 'work') this.work(part, rest);
    else if (kind === 'rescan') this.syncBy(part, 0);
    else if (kind === 'outcome') this.waiting.get(`${rest[0]} ${rest[1]}`)?.(rest);
    else if (kind !== 'changed') throw new Error(`an event that is not simulated: ${kind}`);
  }

  // --- life ---

  async start() {
    for (const part of this.parts) {
      await this.listen(part);
      this.syncBy(part, 0);
      part.timers.purge = this.clock.after(PURGE_MS - (this.phase % (PURGE_MS / 2)), () => this.purge(part));
    }
  }

  async listen(part) {
    await this.world.links.subscribe(part.number, [`${part.prefix}node:${this.id}`], this.shards > 1, (body) => {
      if (this.isUp && part.isUp) for (const event of eventsOf(body)) this.onEvent(part, event);
    });
  }

  deafen(part) {
    return this.world.links.unsubscribe(part.number, [`${part.prefix}node:${this.id}`], this.shards > 1);
  }

  // It is gone: SIGKILL. Its engines are load.mjs's.
  async die() {
    this.isUp = false;
    for (const part of this.parts) for (const timer of Object.values(part.timers)) this.clock.cancel(timer);
    await Promise.all(this.parts.map((part) => this.deafen(part)));
  }

  // A shard is away, and back. As credits_on_lost, on_up.
  lose(part) {
    part.isUp = part.isHinted = false;
    part.isReported = true;
    part.epoch++;
    part.credits = 0;
    this.grantMissing(0);
    return this.deafen(part);
  }

  async reconnect(part) {
    await this.listen(part);
    if (!this.isUp) return;
    part.isUp = true;
    this.syncBy(part, 0);
    for (const [key, onOutcome] of this.waiting) {
      const [topic, seq] = key.split(' ');
      if (this.partOf(topic) === part) this.check(topic, seq, onOutcome);
    }
  }

  // --- syncs ---

  // As next_sync_ms.
  nextSyncMs(part) {
    const every = Math.max(part.paceMs, this.rescanMs);
    const phase = (this.phase + (every * part.number) / this.shards) % every;
    const after = every - ((this.clock.now() + every - phase) % every);
    return after < every / 2 ? after + every : after;
  }

  syncBy(part, ms) {
    const at = this.clock.now() + ms;
    if (part.timers.sync && part.syncAt <= at) return;
    this.clock.cancel(part.timers.sync);
    part.syncAt = at;
    part.timers.sync = this.clock.after(ms, () => {
      part.timers.sync = undefined;
      this.sync(part);
    });
  }

  sync(part) {
    this.clock.cancel(part.timers.sync);
    part.timers.sync = undefined;
    if (!this.isUp || !part.isUp) return;
    this.syncBy(part, part.isSyncing ? 5 : this.nextSyncMs(part));
    if (part.isSyncing) return;
    part.syncedMs = this.clock.now();
    this.grantMissing();
    const idle = this.idleN();
    const isStated = this.parked.length > 0 || part.isReported || !part.isStated;
    const classes = isStated ? [CLASS, part.credits, part.claims, Math.max(0, idle - part.credits), part.lease] : [];
    part.isReported = part.credits + this.parts.reduce((n, one) => n + one.claims, 0) > 0;
    part.isStated = true;
    const engines = [...part.engines].slice(0, 100);
    for (const [name] of engines) part.engines.delete(name);
    const args = [INFO, part.number === 0 ? SETTINGS : '', part.added, part.done, isStated ? 1 : 0, ...classes, ...engines.flat()];
    part.added = part.done = 0;
    part.lease = '';
    part.isSyncing = true;
    this.verb(part, 'sync', args, (reply) => {
      part.isSyncing = false;
      if (reply === null) return;
      const [next, pace] = reply.split('\n')[0].split(' ');
      part.paceMs = this.world.isPaced ? Number(pace ?? 0) : 0;
      if (next !== '') this.followLease(part, Number(next));
    });
    if (this.shards > 1) this.verb(part, 'outbox', [1]);
  }

  purge(part) {
    part.timers.purge = this.clock.after((PURGE_MS * Math.max(part.paceMs, this.rescanMs)) / this.rescanMs, () => this.purge(part));
    this.verb(part, 'sweep_asks', []);
  }

  // --- reaps ---

  followLease(part, ms) {
    const isOurs = this.clock.now() + ms <= part.coveredMs;
    if (ms === 0 || isOurs || (part.paceMs === 0 && ms > DELIVERY_MS)) this.reapBy(part, ms + 2);
  }

  reapBy(part, ms) {
    const at = this.clock.now() + ms;
    if (part.timers.reap && part.reapAt <= at) return;
    this.clock.cancel(part.timers.reap);
    part.reapAt = at;
    part.timers.reap = this.clock.after(ms, () => {
      part.timers.reap = undefined;
      this.confirm(part, Infinity);
      this.verb(part, 'reap', [], (reply) => {
        if (reply === null) return this.reapBy(part, 1000);
        const [next] = reply.split('\n');
        if (next !== '') this.followLease(part, Number(next));
      });
    });
  }

  cover(part, ms) {
    part.coveredMs = Math.max(part.coveredMs, this.clock.now() + ms + REAP_AFTER_MS);
    this.reapBy(part, ms + REAP_AFTER_MS);
  }

  // --- polls ---

  idleN() {
    return Math.max(0, this.parked.length - this.moving);
  }

  creditN() {
    return this.parts.reduce((n, part) => n + part.credits, 0);
  }

  leastPart() {
    let least;
    for (let i = 0; i < this.shards; i++) {
      const part = this.parts[(this.rotor + i) % this.shards];
      if (part.isUp && (!least || part.credits + part.claims < least.credits + least.claims)) least = part;
    }
    return least;
  }

  grantMissing(afterMs = this.rescanMs) {
    for (let missing = this.idleN() - this.creditN(); missing > 0; missing--) {
      const part = this.leastPart();
      if (!part) return;
      part.credits++;
      part.isReported = true;
      this.syncBy(part, afterMs);
    }
  }

  withdrawSurplus() {
    for (let surplus = this.creditN() - this.idleN(); surplus > 0; surplus--) {
      const part = this.parts.reduce((most, one) => (one.credits > most.credits ? one : most));
      part.credits--;
      this.verb(part, 'unpark', [CLASS]);
    }
  }

  // An engine polls: `engine` has onClaim(claim, node) and onEnd().
  poll(engine) {
    const first = this.rotor++ % this.shards;
    this.claimNext({ engine, tried: new Set(), first });
  }

  claimNext(poll) {
    const order = this.parts.map((_, i) => this.parts[(poll.first + i) % this.shards]);
    const open = this.shards === 1 ? undefined : order.find((part) => part.isUp && !poll.tried.has(part) && part.openN > part.claims);
    const part = open ?? this.leastPart();
    if (!part) return poll.engine.onEnd();
    poll.tried.add(part);
    const least = this.leastPart();
    const others = order.some((one) => one.isUp && !poll.tried.has(one) && one.openN > one.claims);
    const isParking = !open || (part.credits + part.claims <= least.credits + least.claims + UNEVEN_CREDITS && !others);
    part.claims++;
    this.verb(part, 'claim', [0, CLASS, isParking ? 1 : '', '', 1], (reply) => {
      part.claims--;
      if (reply === null) return poll.engine.onEnd();
      this.noteEngine(poll.engine, reply.startsWith('claim') ? 'working' : 'waiting');
      if (reply.startsWith('claim')) {
        this.rotor = part.number + 1;
        return this.deliver(part, poll.engine, reply.slice(6));
      }
      if (reply === 'parked') {
        part.credits++;
        part.isReported = part.isHinted = true;
        this.parked.push(poll.engine);
        this.withdrawSurplus();
      } else this.claimNext(poll);
    });
    if (isParking && this.shards > 1) this.stateHints(part);
  }

  stateHints(except) {
    for (const part of this.parts) {
      if (part === except || part.isHinted || !part.isUp) continue;
      part.isHinted = true;
      this.verb(part, 'hint', [CLASS], (reply) => reply?.startsWith('claim') && this.handOver(part, reply.slice(6), false));
    }
  }

  // The engine ends its poll: its connection is closed.
  leave(engine) {
    const at = this.parked.indexOf(engine);
    if (at < 0) return false;
    this.parked.splice(at, 1);
    this.withdrawSurplus();
    return true;
  }

  // All engines without a name have one home.
  noteEngine(engine, state) {
    const now = this.clock.now();
    const home = this.parts[shardOf('Inference_1 -', this.shards)];
    home.engines.set('Inference_1 -', `{"Models":"*","State":"${state}","ForMs":60000}`);
    for (const part of this.parts) part.isStated = false;
    this.syncBy(home, NEWS_MS);
    if (now < this.engineReportedMs + LATELY_MS) return;
    this.engineReportedMs = now;
    for (const part of this.parts) this.syncBy(part, 0);
  }

  // A claim for a parked poll; usesCredit: of this shard.
  handOver(part, text, usesCredit) {
    if (usesCredit && part.credits > 0) part.credits--;
    const engine = this.parked.shift();
    if (!engine) {
      const { topic, lease } = readClaim(text);
      this.count('missed hand-overs');
      this.verb(part, 'give_back', [topic, lease, '']);
    } else this.deliver(part, engine, text);
    this.withdrawSurplus();
  }

  work(part, [model, hops, tried]) {
    if (this.idleN() === 0) {
      this.count('calls passed on');
      this.verb(part, 'work', [model, `${tried === '' ? ',' : tried}${this.id},`, Number(hops) + 1]);
      return;
    }
    this.count('moves');
    this.moving++;
    part.claims++;
    this.verb(part, 'claim', [0, CLASS, '', '', 0], (reply) => {
      part.claims--;
      this.moving--;
      if (reply?.startsWith('claim')) this.handOver(part, reply.slice(6), false);
      else this.count('moves in vain');
      this.withdrawSurplus();
    });
    this.withdrawSurplus();
  }

  // --- claims ---

  deliver(part, engine, text) {
    const claim = readClaim(text);
    part.lease = claim.lease;
    part.isStated = false;
    claim.since = this.clock.now();
    part.unconfirmed.push(claim);
    part.timers.late ??= this.clock.after((DELIVERY_MS * 3) / 5, () => {
      part.timers.late = undefined;
      this.confirm(part, Infinity);
    });
    engine.onClaim(claim, this);
  }

  confirm(part, before) {
    const due = part.unconfirmed.filter(({ since }) => since <= before);
    if (!due.length || !this.isUp || !part.isUp) return;
    part.unconfirmed = part.unconfirmed.filter(({ since }) => since > before);
    this.verb(part, 'delivered', due.flatMap(({ lease, topic, attempt, rows }) => [`${lease} ${topic}`, `Inference_1 ${topic} ${attempt} ${this.id} ${rows.map(([seq]) => seq).join(' ')}`]));
    this.cover(part, LEASE_MS);
  }

  // --- clients and engines ---

  partOf(topic) {
    return this.parts[shardOf(topic, this.shards)];
  }

  // onAdded(seq or null); onOutcome(lines) if the client waits.
  add({ topic, user, text }, onAdded, onOutcome) {
    const part = this.partOf(topic);
    const tail = [`"${user}"`, '"default"', '{}', '', JSON.stringify(text)].join('\n');
    this.verb(part, 'add', [0, topic, user, 'Frontend_1', 'default', 1, 100_000, tail, '', '', '', '', onOutcome ? 1 : '', '', '', ''], (reply) => {
      const [tag, seq] = (reply ?? '').split('\n');
      if (tag !== 'ok') return onAdded(null);
      part.added++;
      this.cover(part, DELIVERY_MS);
      if (onOutcome) this.waiting.set(`${topic} ${seq}`, onOutcome);
      onAdded(Number(seq));
    });
  }

  check(topic, seq, onOutcome) {
    const part = this.partOf(topic);
    this.waiting.set(`${topic} ${seq}`, onOutcome);
    this.verb(part, 'check', [0, topic, seq, '', 'wait'], (reply) => {
      if (/^(Done|Failed|Cancelled)\n/.test(reply ?? '')) onOutcome([topic, String(seq), ...reply.split('\n')]);
    });
  }

  // onAnswered(tag or null).
  answer({ topic, lease }, seq, query, answer, onAnswered) {
    const part = this.partOf(topic);
    part.unconfirmed = part.unconfirmed.filter((claim) => claim.lease !== lease);
    const args = [0, topic, seq, lease, 'Inference_1', JSON.stringify(query), `${JSON.stringify(answer)}\n""\n""`, '', '', '', '', '', '', '', ''];
    this.verb(part, 'complete', args, (reply) => {
      if (reply?.startsWith('ok')) part.done++;
      onAnswered(reply === null ? null : reply.split('\n')[0]);
    });
  }
}

const ROW_LINES = 7;

// class / topic / lease / attempt / n, then per query its Seq and its row.
function readClaim(text) {
  const lines = text.split('\n');
  const [topic, lease, attempt, n] = lines.slice(lines[0] === 'claim' ? 2 : 1);
  const at = lines[0] === 'claim' ? 6 : 5;
  const rows = Array.from({ length: Number(n) }, (_, i) => [Number(lines[at + i * (ROW_LINES + 1)]), JSON.parse(lines[at + i * (ROW_LINES + 1) + ROW_LINES])]);
  return { topic, lease, attempt, rows };
}
