// SPDX-License-Identifier: MIT
//
// random_world: one keyspace as a tester sees it that calls random verbs of several nodes and engines: what must have become of each query and lookup,
// and what each verb must reply. What the keyspace must look like then is in random_checks.mjs.
import assert from 'node:assert/strict';
import { putDue } from '../support/due.mjs';
import { lines, random, tailOf } from '../support/lua.mjs';

export const NODES = ['n1', 'n2', 'n3'];
export const CLASSES = ['E|*', 'F|big', 'G|small,big', 'H|*'];
export const LOOKUP_CLASSES = ['E|?', 'F|?'];
const MAX_ATTEMPTS = 3;
const USERS = ['alice', 'bob', 'carol'];
const BLANK = '%'; // the user of a row that went with its user's data
const MODELS = ['default', 'big', 'small'];
const TOPICS = ['t1', 't2', 't3', 't4', 't5', 't6'];
const REASON = '"tired"';
const NO_LEASE = '999999';
const FALLBACK_MS = 1e6;
const FRAGMENTS = ['aa', 'bb', 'cc']; // their fingerprints

// `fallen`: models that any engine takes, since none is there for them.
export const takes = (cls, model, fallen = new Set()) => {
  const models = cls.split('|')[1];
  return models === '*' || model === 'default' || models.split(',').includes(model) || fallen.has(model);
};

// What the tester knows: topics -> queries [{state, user, model, used, lease, holder, answer, cancelledBy}].
export class World {
  constructor(shard, seed) {
    this.shard = shard;
    this.shards = 1;
    this.topicNames = TOPICS;
    this.below = random(seed);
    this.topics = new Map();
    this.users = new Map(); // topic -> users with a part in it
    // Fingerprint -> {needs: topics and Seqs, count, claimed, isOpen, lease, isOver: its lease has ended}.
    this.lookups = new Map();
    this.alive = new Set(NODES);
    this.fallen = new Set(); // models, after the last verb
    this.fellBefore = new Set(); // before it
    this.fellMeanwhile = new Set(); // that fell at once, if they began to wait by it
    this.leases = new Set(); // all that ever were
    this.keys = new Map(); // of leases that have their key -> what it says
    this.undelivered = new Map(); // leases that no node has confirmed -> their topic, and what their key shall say
    this.ties = new Map(); // `<topic> <user>` -> its signed adds, while the user has a part in the topic
    this.sent = []; // all signed adds: what each of them said, and whether its tie has gone since
    this.nonces = 0;
    this.recommended = []; // {id, account, user, digest, kind}, in their order
    this.gone_n = 0; // needs of lookups that outlived their topic
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  // Some query; more often one in that state.
  any(state) {
    const all = [...this.topics].flatMap(([topic, queries]) => queries.map((q, i) => ({ topic, seq: i + 1, q })));
    const fitting = all.filter(({ q }) => q.state === state);
    if (fitting.length && this.below(4)) return this.pick(fitting);
    return all.length ? this.pick(all) : undefined;
  }

  held(topic, lease) {
    return (this.topics.get(topic) ?? []).filter((q) => q.state === 'Pending' && q.lease === lease);
  }

  // One verb in a turn of `node`; then what was handed over to anybody is noted.
  async run(node, verb, ...args) {
    return this.runSigned(node, [], verb, ...args);
  }

  async runSigned(node, nonces, verb, ...args) {
    return (await this.turn(node, { nonces }, [[verb, ...args]])).replies[0];
  }

  async turn(node, options, verbs) {
    const seen = await this.shard.cmd('HKEYS', this.shard.key('models_seen'));
    const frame = { ...options, node, maxAttempts: MAX_ATTEMPTS, deliveryMs: 1e9, leaseMs: 1e9, shards: this.shards, fallbackMs: FALLBACK_MS };
    const { replies, events, used } = await this.shard.turn(verbs, frame);
    this.fellBefore = this.fallen;
    this.fellMeanwhile = new Set(MODELS.filter((model) => !seen.includes(model) && !seen.includes('*')));
    this.fallen = new Set(await this.shard.cmd('ZRANGE', this.shard.key('falls'), 0, 0, 'BYSCORE'));
    for (const reply of replies) if (reply instanceof Error) throw reply;
    this.heard = [...events.map((event) => [event, node]), ...(await this.shard.ears.take()).map(([channel, event]) => {
      assert.ok(channel === 'all' || this.alive.has(channel.slice(5)), `nobody hears ${channel}`);
      return [event, channel.slice(5)];
    })];
    this.later = this.heard.filter(([event]) => event.startsWith('claim\n'));
    return { replies, used };
  }

  // Notes the claims that came as events, after the verb's own effect was noted.
  settle() {
    const claimed = [];
    for (const [event, node] of this.later) {
      if (event.split('\n')[1].endsWith('|?')) this.noteLookup(event);
      else claimed.push(this.noteClaim(event, node));
    }
    this.later = [];
    // A reap hands over claim by claim: what comes back later in the same topic is not there yet. Claims of
    // one verb for several nodes come in no order: all are noted before it is looked what is left.
    if (this.verb === 'reap' || this.verb === 'fall') return;
    for (const claim of claimed) this.assertNoneLeft(claim);
  }

  assertNoneLeft({ queries, cls }) {
    const left = queries.filter((q) => q.state === 'Open' && takes(cls, q.model, this.fallen));
    assert.equal(left.length, 0, 'all that are Open go together');
  }

  noteClaim(text, node) {
    const [tag, cls, topic, lease, attempt, n, ...rest] = text.split('\n');
    assert.equal(tag, 'claim');
    assert.ok(!this.leases.has(lease), 'a lease is new');
    this.leases.add(lease);
    const queries = this.topics.get(topic);
    assert.equal(rest.length, n * 8);
    let most = 0;
    for (let i = 0; i < n; i++) {
      const q = queries[rest[i * 8] - 1];
      assert.equal(q.state, 'Open', `${topic} ${rest[i * 8]} was ${q.state}`);
      assert.ok([this.fallen, this.fellBefore, this.fellMeanwhile].some((fallen) => takes(cls, q.model, fallen)), `${cls} does not serve ${q.model}`);
      Object.assign(q, { state: 'Pending', lease, holder: cls.split('|')[0], used: q.used + 1 });
      most = Math.max(most, q.used);
    }
    assert.equal(Number(attempt), most);
    const seqs = rest.filter((_, i) => i % 8 === 0).join(' ');
    this.undelivered.set(lease, [topic, `${cls.split('|')[0]} ${topic} ${attempt} ${node} ${seqs}`]);
    return { queries, cls };
  }

  isClaimable(lookup) {
    return lookup.isOpen && (!lookup.lease || lookup.isOver);
  }

  noteLookup(text) {
    const [tag, cls, print, lease, , , fragment, count] = text.split('\n');
    assert.ok(tag === 'claim' && LOOKUP_CLASSES.includes(cls), text);
    assert.ok(!this.leases.has(lease), 'a lease is new');
    this.leases.add(lease);
    const lookup = this.lookups.get(print);
    assert.ok(lookup && this.isClaimable(lookup), `${print} may be claimed`);
    assert.deepEqual([fragment, Number(count)], [`"${print}"`, lookup.count]);
    Object.assign(lookup, { lease, isOver: false, claimed: lookup.count });
  }

  giveBack(queries, { counts = true } = {}) {
    for (const q of queries) {
      if (!counts) q.used--;
      q.state = counts && q.used >= MAX_ATTEMPTS ? 'Failed' : 'Open';
    }
  }

  // --- steps, each with what it must answer ------------------------------------------------------

  async add(node) {
    const [topic, user, model] = [this.pick(this.topicNames), this.pick(USERS), this.pick(MODELS)];
    const queries = this.topics.get(topic) ?? [];
    const query = `${topic} ${queries.length + 1}${' '.repeat(this.below(4) * 1500)}`;
    const sent = { nonce: `nonce-${String(this.nonces++).padStart(10, '0')}`, mark: String(this.nonces).padStart(12, 'a'), topic, user, seq: queries.length + 1 };
    const isSigned = this.below(2), waits = this.below(2) ? '1' : '';
    sent.args = [topic, user, 'A', model, 1, 1e6, tailOf({ user, model, query }), '', '', '', isSigned ? sent.mark : '', waits, 2 ** 40, this.below(8) ? '' : this.below(40) * 1000];
    const reply = isSigned ? await this.runSigned(node, [sent.nonce], 'add', 1, ...sent.args) : await this.run(node, 'add', 0, ...sent.args);
    if (sent.args.at(-1) !== '' && reply.startsWith('stored\n')) return; // its room is full: nothing is stored
    assert.match(reply, new RegExp(`^ok\n${queries.length + 1}\n`));
    if (isSigned) {
      const tie = this.ties.get(`${topic} ${user}`) ?? [];
      tie.push(sent);
      this.ties.set(`${topic} ${user}`, tie);
      this.sent.push(sent);
    }
    queries.push({ state: 'Open', user, model, used: 0, query });
    this.topics.set(topic, queries);
    if (!this.users.has(topic)) this.users.set(topic, new Set());
    this.users.get(topic).add(user);
  }

  // Its first answer while the topic knows it, at any rate if it is one of the last eight; nothing is stored, ever.
  async resend(node) {
    if (!this.sent.length) return;
    const sent = this.below(2) ? this.sent.at(-1 - this.below(Math.min(5, this.sent.length))) : this.pick(this.sent);
    const args = [...sent.args];
    const isOther = !this.below(4);
    if (isOther) args[this.below(2)] = 'other';
    const reply = await this.runSigned(node, [sent.nonce], 'add', 1, ...args);
    const tie = this.ties.get(`${sent.topic} ${sent.user}`) ?? [];
    const isKnown = !isOther && tie.includes(sent);
    if (!isKnown || reply === 'replay') assert.equal(reply, 'replay');
    else assert.match(reply, new RegExp(`^again\n${sent.seq}\n\\d{13}$`));
    if (isKnown && tie.indexOf(sent) >= tie.length - 8) assert.notEqual(reply, 'replay', 'one of the last eight');
  }

  async claim(node) {
    const cls = this.pick(CLASSES);
    const parks = this.below(2);
    const waits = [...this.topics.values()].flat().some((q) => q.state === 'Open' && takes(cls, q.model, this.fallen));
    const reply = await this.run(node, 'claim', 0, cls, String(parks));
    if (waits) this.assertNoneLeft(this.noteClaim(reply, node));
    else assert.equal(reply, parks ? 'parked' : 'empty');
  }

  async complete(node) {
    const found = this.any('Pending');
    if (!found) return;
    const { topic, seq, q } = found;
    const lease = this.pick([q.lease ?? '1', '', NO_LEASE]);
    const holder = this.pick([q.holder ?? 'E', 'Z']);
    const answer = lines(`["${this.below(2)}${'x'.repeat(this.below(2) * 3000)}"]`, 'null', 'null');
    const reply = (await this.run(node, 'complete', 0, topic, seq, lease, holder, JSON.stringify(q.query), answer, '')).split('\n')[0];
    if (q.state === 'Done') return assert.equal(reply, q.answer === answer ? 'same' : 'done');
    if (q.state === 'Failed' || q.state === 'Cancelled') return assert.equal(reply, q.state.toLowerCase());
    const isGood = q.state === 'Open' || (holder === q.holder && (!lease || lease === q.lease));
    assert.equal(reply, isGood ? 'ok' : 'lost');
    if (isGood) Object.assign(q, { state: 'Done', answer });
  }

  async cancel(node) {
    const found = this.any('Open');
    if (!found) return;
    const { topic, seq, q } = found;
    const reply = await this.run(node, 'cancel', 0, topic, seq, '', REASON);
    if (q.state === 'Done' || q.state === 'Failed') return assert.equal(reply, q.state.toLowerCase());
    assert.match(reply, /^ok(\nended)?$/);
    q.state = 'Cancelled';
  }

  async release(node) {
    const found = this.any('Pending');
    if (!found) return;
    const { topic, seq, q } = found;
    const lease = q.lease ?? NO_LEASE;
    const retries = this.below(3) > 0, isNamed = this.below(3) === 0;
    const held = this.held(topic, lease);
    const failed = isNamed ? held.filter((one) => one === q) : held;
    const reply = await this.run(node, 'release', 0, topic, lease, q.holder ?? 'E', '', REASON, retries ? 'retry' : 'fail', isNamed ? seq : '');
    assert.equal(reply.split('\n')[0], failed.length ? 'ok' : 'lost');
    if (!failed.length) return;
    if (!retries) {
      for (const one of failed) one.state = 'Failed';
    } else {
      this.giveBack(failed);
      this.giveBack(held.filter((one) => !failed.includes(one)), { counts: false });
    }
  }

  async releaseText(node) {
    const found = this.any('Pending');
    if (!found) return;
    const { topic, q } = found;
    const isHeld = q.state === 'Pending';
    const reply = await this.run(node, 'release', 0, topic, '', q.holder ?? 'E', JSON.stringify(q.query), REASON, 'retry');
    assert.equal(reply.split('\n')[0], isHeld ? 'ok' : 'lost');
    if (isHeld) this.giveBack([q]);
  }

  async giveClaimBack(node) {
    const found = this.any('Pending');
    if (!found) return;
    const held = this.held(found.topic, found.q.lease);
    assert.equal(await this.run(node, 'give_back', found.topic, found.q.lease ?? NO_LEASE), 'ok');
    this.giveBack(held, { counts: false });
  }

  async extend(node) {
    const found = this.any('Pending');
    if (!found) return;
    const { topic, q } = found;
    const reply = (await this.run(node, 'extend', 0, topic, q.lease ?? NO_LEASE, q.holder ?? 'E')).split('\n')[0];
    if (this.held(topic, q.lease ?? NO_LEASE).length) {
      assert.equal(reply, 'ok');
      await this.noteSignOfLife(topic, q.lease);
    } else assert.ok(reply === 'lost' || reply === 'ok', reply); // ok: it is notified of a cancel
  }

  // A key that is gone is written again, with what the claim holds by then. Its node: one that can be known.
  async noteSignOfLife(topic, lease) {
    if (this.keys.has(lease)) return;
    const [first] = this.held(topic, lease);
    const seqs = this.topics.get(topic).flatMap((q, i) => (q.state === 'Pending' && q.lease === lease ? [i + 1] : []));
    const found = (await this.shard.cmd('GET', this.shard.key(`lease:${lease}`))) ?? 'nothing';
    const most = Math.max(...this.held(topic, lease).map((q) => q.used));
    assert.match(found, new RegExp(`^${first.holder} ${topic} ${most} n\\d ${seqs.join(' ')}$`));
    this.keys.set(lease, found);
  }

  // Some claims, which may have ended meanwhile, have reached their engines. It may be reported twice.
  async delivered(node) {
    const some = [...this.undelivered].filter(() => this.below(3));
    if (!some.length) return;
    assert.equal(await this.run(node, 'delivered', ...some.flatMap(([lease, [topic, record]]) => [`${lease} ${topic}`, record])), 'ok');
    for (const [lease, [topic, record]] of some) {
      if (this.below(4)) this.undelivered.delete(lease);
      if (this.held(topic, lease).length) this.keys.set(lease, record);
    }
  }

  // The keys of some leases expire before their claims end, or Redis needs the room.
  async forget() {
    for (const lease of [...this.keys.keys()]) {
      if (this.below(3)) continue;
      this.keys.delete(lease);
      await this.shard.cmd('DEL', this.shard.key(`lease:${lease}`));
    }
  }

  // The leases of some claims run out, and one node notices.
  async reap(node) {
    const due = new Set();
    for (const [topic, queries] of this.topics) {
      for (const q of queries) if (q.state === 'Pending' && !this.below(3)) due.add(`${q.lease} ${topic}`);
    }
    const counts = this.below(3) > 0; // an odd deadline says that no engine ever had it
    for (const member of due) await this.shard.cmd('ZADD', this.shard.key('leases'), 'XX', counts ? 2 : 1, member);
    const over = [...this.lookups].filter(([, lookup]) => lookup.isOpen && lookup.lease && !lookup.isOver && !this.below(3));
    for (const [print, lookup] of over) {
      lookup.isOver = true;
      await this.shard.cmd('ZADD', this.shard.key('lookups'), 'XX', counts ? 2 : 1, print);
      await putDue(this.shard, 'lookup_due', print, counts ? 2 : 1);
    }
    await this.run(node, 'reap');
    for (const member of due) {
      const [lease, topic] = member.split(' ');
      this.giveBack(this.held(topic, lease), { counts });
    }
  }

  async retry(node) {
    const found = this.any(this.pick(['Failed', 'Cancelled']));
    if (!found) return;
    const { topic, seq, q } = found;
    const reply = await this.run(node, 'retry', 0, topic, seq);
    const ended = q.state === 'Failed' || q.state === 'Cancelled';
    const isBlank = q.user === BLANK;
    assert.equal(reply, isBlank ? 'missing' : ended ? 'ok' : q.state === 'Done' ? 'done' : 'pending');
    if (ended && !isBlank) Object.assign(q, { state: 'Open', used: 0 });
  }

  async remove(node) {
    if (this.below(4)) return;
    const [topic, user] = [this.pick(this.topicNames), this.pick(USERS)];
    const users = this.users.get(topic);
    const reply = await this.run(node, 'delete', 0, user, topic);
    assert.equal(reply, users?.has(user) ? 'ok' : 'forbidden');
    this.ties.delete(`${topic} ${user}`);
    if (!users?.delete(user) || users.size) return;
    this.users.delete(topic);
    this.topics.delete(topic);
    for (const [print, { needs }] of [...this.lookups]) {
      for (const need of [...needs].filter((one) => one.startsWith(`${topic} `))) {
        needs.delete(need);
        // Of several shards nodes note needs in another way, and end them by the outbox (lookup_needs.test.mjs): what
        // this model adds stays.
        if (this.shards > 1) needs.add(`gone-${this.gone_n++} ${need}`);
      }
      if (!needs.size) this.lookups.delete(print);
    }
  }

  // All of a user: its own topics go, in those of others its rows are blanked.
  async removeUser(node) {
    if (this.below(6)) return;
    const user = this.pick(USERS);
    const own = [...this.users].filter(([, users]) => users.has(user));
    const alone = own.filter(([, users]) => users.size === 1);
    const reply = (await this.run(node, 'delete_user', 0, user, `o:${user}`)).split('\n').map(Number);
    const said = this.recommended.filter((one) => one.user === user);
    this.recommended = this.recommended.filter((one) => one.user !== user);
    assert.deepEqual([reply[1], reply[2], reply[3], reply[6]], [said.length ? 1 : 0, alone.length, own.length - alone.length, said.length]);
    if (said.length) assert.match(await this.run(node, 'delete_user', 0, user, `o:${user}`), /^ok\n0\n/);
    const gone = (topic, isGone) => {
      for (const [print, { needs }] of [...this.lookups]) {
        for (const need of [...needs]) if (isGone(...need.split(' '), topic)) needs.delete(need);
        if (!needs.size) this.lookups.delete(print);
      }
    };
    for (const [topic, users] of own) {
      this.ties.delete(`${topic} ${user}`);
      const queries = this.topics.get(topic);
      const mine = new Set(queries.flatMap((q, i) => (q.user === user ? [String(i + 1)] : [])));
      gone(topic, (of, seq) => of === topic && (users.size === 1 || mine.has(seq)));
      if (users.size === 1) {
        this.users.delete(topic);
        this.topics.delete(topic);
      } else {
        users.delete(user);
        for (const q of queries) if (q.user === user) Object.assign(q, { state: 'Cancelled', user: BLANK, query: '' });
      }
    }
  }

  // --- recommendations ----------------------------------------------------------------------------

  // A Promote undoes the Flags of the same account, user and fragment, and the reverse; what is refused undoes nothing.
  async recommend(node) {
    const [account, user, kind] = [this.pick(['A', 'B']), this.pick(USERS), this.pick(['P', 'F', ''])];
    const digest = kind && this.pick(['d1', 'd2']);
    const most = this.below(4) ? 2 ** 40 : '';
    const text = `"${'r'.repeat(this.below(3) * 3000)}"`;
    const reply = await this.run(node, 'recommend', 0, this.pick(this.topicNames), '', text, account, user, 1, most, most && !this.below(4) ? this.below(20) * 1000 : '', digest, kind === 'F' ? 1 : '');
    if (reply.startsWith('stored\n')) return;
    const isContrary = (one) => digest && one.account === account && one.user === user && one.digest === digest && one.kind !== kind;
    const [, , id, undone] = reply.split('\n');
    assert.equal(Number(undone), this.recommended.filter(isContrary).length);
    this.recommended = this.recommended.filter((one) => !isContrary(one));
    this.recommended.push({ id, account, user, digest, kind });
  }

  async unrecommend(node) {
    if (!this.recommended.length) return;
    const { id } = this.pick(this.recommended);
    assert.equal(await this.run(node, 'unrecommend', 0, id), 'ok');
    this.recommended = this.recommended.filter((one) => one.id !== id);
    assert.equal(await this.run(node, 'unrecommend', 0, id), 'missing');
  }

  // --- lookups ------------------------------------------------------------------------------------

  async addLookup(node) {
    const found = this.any(this.pick(['Done', 'Open']));
    if (!found) return;
    const [print, count] = [this.pick(FRAGMENTS), 1 + this.below(100)];
    const reply = await this.run(node, 'add_lookup', 0, found.topic, found.seq, '', print, `${print}0`, `"${print}"`, count, 1, this.pick(['A', 'B']), 1000, 2 ** 40, this.below(4) ? '' : this.below(40) * 1000);
    if (reply.startsWith('stored\n')) return;
    assert.match(reply, /^ok\n/);
    const lookup = this.lookups.get(print) ?? { needs: new Set(), count: 0, isOpen: false };
    this.lookups.set(print, lookup);
    lookup.needs.add(`${found.topic} ${found.seq}`);
    if (count > lookup.count) Object.assign(lookup, { count, isOpen: true, lease: undefined });
  }

  async claimLookup(node) {
    const parks = this.below(2);
    const waits = [...this.lookups.values()].some((lookup) => this.isClaimable(lookup));
    const reply = await this.run(node, 'claim_lookup', 0, this.pick(LOOKUP_CLASSES), String(parks));
    if (waits) this.noteLookup(reply);
    else assert.match(reply, parks ? /^parked\n\d*$/ : /^empty$/);
  }

  // One that was claimed; and its lease, or another.
  anyLookup() {
    const all = [...this.lookups].filter(([, lookup]) => lookup.lease && !lookup.isOver);
    if (!all.length) return undefined;
    const [print, lookup] = this.pick(all);
    const isIts = this.below(3) > 0;
    return { print, lookup, isIts, lease: isIts ? lookup.lease : '999999' };
  }

  async giveLookupBack(node) {
    const found = this.anyLookup();
    if (!found) return;
    assert.equal(await this.run(node, 'give_back_lookup', found.print, found.lease), 'ok');
    if (found.isIts) found.lookup.lease = undefined;
  }

  async lookupDelivered(node) {
    const found = this.anyLookup();
    if (found) assert.equal(await this.run(node, 'delivered_lookups', `${found.lease} ${found.print}`), 'ok');
  }

  async match(node) {
    const print = this.pick(FRAGMENTS);
    const lookup = this.lookups.get(print);
    const reply = await this.run(node, 'match', 0, print, `["${'m'.repeat(this.below(5000))}"]`);
    assert.equal(reply, lookup ? 'ok' : 'missing');
    if (lookup && (lookup.claimed === undefined || lookup.claimed === lookup.count)) Object.assign(lookup, { isOpen: false, lease: undefined });
  }

  async partial(node) {
    const found = this.any('Pending');
    if (!found) return;
    const { topic, seq, q } = found;
    // A claim's pieces are texts or deltas, of the same length here.
    const isOfDoor = q.lease && Number(q.lease) % 2 === 0;
    const reply = await this.run(node, 'partial', 0, topic, seq, q.lease ?? NO_LEASE, 0, '', isOfDoor ? '' : 'text', 1000, q.holder ?? 'E', this.pick(['whole', 'first', 'shown']), this.pick(['', '"FinishReason":"stop"', '"Usage":{"prompt_tokens":1,"completion_tokens":2}']), isOfDoor ? this.pick(['{  }', '{}\n[]']) : '');
    if (q.state === 'Pending') {
      const [, number] = reply.match(/^ok\n4\n\d*\n(\d+)\n/) ?? assert.fail(reply);
      // Each claim of a query has a number of its own, and they rise.
      q.numbers ??= new Map();
      for (const [lease, other] of q.numbers) assert.equal(Math.sign(number - other), Math.sign(q.lease - lease), `${number} of lease ${q.lease}, ${other} of ${lease}`);
      q.numbers.set(q.lease, number);
      await this.noteSignOfLife(topic, q.lease);
    } else assert.ok(reply === 'lost' || reply === 'cancelled\n4', reply);
  }

  async unpark(node) {
    assert.equal(await this.run(node, 'unpark', this.pick([...CLASSES, ...LOOKUP_CLASSES])), 'ok');
  }

  async sync(node) {
    const args = [...CLASSES, ...LOOKUP_CLASSES].filter((cls) => cls.endsWith('?') || this.below(4)).flatMap((cls) => [cls, this.below(2), this.below(2), 0, this.below(2) ? this.pick(['', ...this.leases]) : '']);
    await this.run(node, 'sync', '{}', '', 0, 0, args.length / 5, ...args);
  }

  // No engine has been seen for long, and nobody is at work; one node notices.
  async fall(node) {
    const waiting = await this.shard.cmd('ZRANGE', this.shard.key('falls'), 0, -1);
    await this.shard.cmd('DEL', this.shard.key('models_seen'));
    await this.shard.cmd('HSET', this.shard.key('models_seen'), 'other', '1 E ');
    for (const model of waiting) if (!this.fallen.has(model)) await this.shard.cmd('ZADD', this.shard.key('falls'), 1, model);
    await this.run(node, 'reap');
    for (const model of this.fallen) assert.ok(waiting.includes(model));
    assert.deepEqual(await this.shard.cmd('ZRANGE', this.shard.key('falls'), '(0', '+inf', 'BYSCORE'), [], 'all have fallen');
  }

  // The last node dies without a word, or comes back.
  async crash() {
    const node = NODES.at(-1);
    if (this.alive.delete(node)) await this.shard.ears.remove(node);
    else {
      this.alive.add(node);
      await this.shard.ears.add(node);
    }
  }

  async step() {
    const verbs = ['add', 'add', 'add', 'add', 'resend', 'claim', 'claim', 'claim', 'complete', 'complete', 'complete', 'cancel', 'release',
      'releaseText', 'giveClaimBack', 'delivered', 'delivered', 'extend', 'reap', 'retry', 'remove', 'removeUser', 'partial', 'forget', 'unpark', 'sync', 'fall', 'crash',
      'addLookup', 'addLookup', 'claimLookup', 'claimLookup', 'giveLookupBack', 'lookupDelivered', 'match', 'recommend', 'recommend',
      'unrecommend'];
    const verb = this.pick(verbs);
    const node = this.pick([...this.alive]);
    this.later = [];
    this.verb = verb;
    await this[verb](node);
    this.settle();
    return `${node} ${verb}`;
  }
}
