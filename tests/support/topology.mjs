// SPDX-License-Identifier: MIT
//
// topology: Redis beyond one server, as real processes on free ports: a master with replicas, the same watched by three
// Sentinels, and a Redis Cluster of masters and replicas. What each function returns can be used like a Redis of
// startRedis() (url, cmd, info, stop), also by a cluster of nodes:
//
//   suite('…', { redis: () => startSentinels() }, …)      startCluster({ redis: () => startRedisCluster({ masters: 3 }) })
//
// Members are what startRedis() returns: kill('SIGKILL'), pause(), resume(), restart(), cmd(…), alive, log(). Members keep
// their configuration over a restart, so a master that comes back follows whatever the others have chosen meanwhile.
// Timeouts are short for tests, and long enough for a loaded machine: an election needs a second or two, Sentinels must not
// replace a master that is starved for some seconds, and replication must survive a link that a test holds.
import { once } from 'node:events';
import net from 'node:net';
import { eventually } from './harness.mjs';
import { freePort, RedisClient, startRedis } from './redis.mjs';

const WAIT = { ms: 60_000, every: 50 };
const NAME = 'parley-test';
// Of a Redis that is not one of a cluster: a replica has all at once, without the delay that collects several.
const REPLICATING = 'repl-diskless-sync-delay 0\nrepl-timeout 60\n';
const SLOTS = 16_384;

const isMaster = async (member) => member.alive && (await member.cmd('ROLE'))[0] === 'master';

// Once it has all that its master had, and receives what comes.
const following = (member) =>
  eventually(
    async () => {
      const [role, , , state] = await member.cmd('ROLE');
      return role === 'slave' && state === 'connected';
    },
    { ...WAIT, what: `${member.port} follows its master` },
  );

async function stopAll(members) {
  await Promise.all(members.map((member) => member.stop()));
}

// All of them, or none: a start that failed leaves no process.
async function startAll(starts) {
  const started = await Promise.allSettled(starts);
  const failed = started.find(({ status }) => status === 'rejected');
  const members = started.filter(({ status }) => status === 'fulfilled').map(({ value }) => value);
  if (!failed) return members;
  await stopAll(members);
  throw failed.reason;
}

// A master and those who follow it.
//   redis.members                       the first was the master at the start
//   await redis.master()                who it is now; rejects without one, or with several
//   await redis.replicas()              the live others
//   await redis.synced()                once all live replicas have what the master has
//   await redis.promote(member)         by hand: that one is the master now, and the live others follow it
//   redis.url                           of the first member: promote() changes it to the new master's
class Replicated {
  constructor(members, password) {
    this.members = members;
    this.password = password;
    this.first = members[0];
  }

  get port() {
    return this.first.port;
  }

  get url() {
    return this.first.url;
  }

  async master() {
    const are = await Promise.all(this.members.map(isMaster));
    const masters = this.members.filter((_, i) => are[i]);
    if (masters.length !== 1) throw new Error(`${masters.length} masters among ${this.members.length} servers`);
    return masters[0];
  }

  async replicas() {
    const master = await this.master();
    return this.members.filter((member) => member !== master && member.alive);
  }

  async cmd(...words) {
    return (await this.master()).cmd(...words);
  }

  async info(section) {
    return (await this.master()).info(section);
  }

  synced() {
    return eventually(
      async () => {
        const [, offset] = await this.cmd('ROLE');
        const links = await Promise.all((await this.replicas()).map((replica) => replica.cmd('ROLE')));
        return links.every(([role, , , state, at]) => role === 'slave' && state === 'connected' && at >= offset);
      },
      { ...WAIT, what: 'all replicas have what the master has' },
    );
  }

  async promote(member) {
    await member.cmd('REPLICAOF', 'NO', 'ONE');
    for (const other of this.members) if (other !== member && other.alive) await other.cmd('REPLICAOF', '127.0.0.1', member.port);
    this.first = member;
  }

  stop = () => stopAll(this.members);
}

// n replicas. aof, args and server as startRedis takes them; password: of all of them.
export async function startReplicas({ replicas = 1, password = '', ...options } = {}) {
  const master = await startRedis({ config: REPLICATING, password, ...options });
  const follows = `${REPLICATING}replicaof 127.0.0.1 ${master.port}\n`;
  try {
    const others = await startAll(Array.from({ length: replicas }, () => startRedis({ config: follows, password, ...options })));
    const redis = new Replicated([master, ...others], password);
    await redis.synced();
    return redis;
  } catch (error) {
    await master.stop();
    throw error;
  }
}

// The same with Sentinels, which choose another master by themselves.
//   redis.url                           redis+sentinel://127.0.0.1:P,127.0.0.1:P,127.0.0.1:P/parley-test/0
//   redis.sentinels                     members, too
//   await redis.agreed(member?)         once all live Sentinels name one live master (not `member`), and it is one; resolves with it
//   await redis.failover()              a planned one; resolves with the new master
class Sentinels extends Replicated {
  constructor(members, sentinels, password) {
    super(members, password);
    this.sentinels = sentinels;
  }

  get url() {
    const login = this.password ? `:${this.password}@` : '';
    return `redis+sentinel://${login}${this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${NAME}/0`;
  }

  // Not by asking all members: a master that has just come back still believes that it is one.
  async master() {
    const sentinel = this.sentinels.find(({ alive }) => alive);
    const [, port] = await sentinel.cmd('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
    return this.members.find((member) => member.port === Number(port));
  }

  agreed(not) {
    return eventually(
      async () => {
        const live = this.sentinels.filter(({ alive }) => alive);
        const ports = await Promise.all(live.map(async (sentinel) => (await sentinel.cmd('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME))[1]));
        const master = this.members.find(({ port }) => port === Number(ports[0]));
        return new Set(ports).size === 1 && master !== not && (await isMaster(master)) && master;
      },
      { ...WAIT, what: 'the Sentinels agree on a master' },
    );
  }

  async failover() {
    const master = await this.master();
    await this.sentinels.find(({ alive }) => alive).cmd('SENTINEL', 'FAILOVER', NAME);
    return this.agreed(master);
  }

  stop = () => stopAll([...this.sentinels, ...this.members]);
}

// downAfterMs: how long the master is silent before they choose another. sentinelPassword: of the Sentinels themselves.
export async function startSentinels({ replicas = 2, downAfterMs = 5000, password = '', sentinelPassword = '', server, ...options } = {}) {
  const redis = await startReplicas({ replicas, password, server, ...options });
  const { port } = redis;
  const config =
    `sentinel monitor ${NAME} 127.0.0.1 ${port} 2\nsentinel down-after-milliseconds ${NAME} ${downAfterMs}\n` +
    `sentinel failover-timeout ${NAME} ${6 * downAfterMs}\n${password ? `sentinel auth-pass ${NAME} ${password}\n` : ''}` +
    (sentinelPassword ? `sentinel sentinel-pass ${sentinelPassword}\n` : '');
  try {
    const sentinels = await startAll(Array.from({ length: 3 }, () => startRedis({ config, isSentinel: true, password: sentinelPassword, server })));
    const found = new Sentinels(redis.members, sentinels, password);
    await eventually(
      async () => {
        for (const sentinel of sentinels) {
          const words = await sentinel.cmd('SENTINEL', 'MASTER', NAME);
          const state = Object.fromEntries(words.flatMap((word, i) => (i % 2 ? [] : [[word, words[i + 1]]])));
          if (Number(state['num-slaves']) !== replicas || Number(state['num-other-sentinels']) !== 2) return false;
        }
        return true;
      },
      { ...WAIT, what: 'the Sentinels know each other and the replicas' },
    );
    return found;
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

// A Redis Cluster.
//   redis.url                           redis+cluster://127.0.0.1:P,… of all members; rediss+cluster://localhost:P,… with tls
//   redis.members                       with .id; the masters were the first of them
//   await redis.masters()               live masters that own slots, in the order of their slots
//   await redis.ownerOf(slot)           its master
//   await redis.slotOf(key)
//   await redis.replicaOf(master)       one live replica of it
//   await redis.ready()                 once all live members say that the cluster is whole and all slots have a live master
//   await redis.failover(replica)       a planned one (CLUSTER FAILOVER)
//   await redis.takenOver(master)       once another one owns the slots that the killed one had; resolves with it
//   const move = await redis.beginMove(slot, to)   the slot is migrating from now on; then
//     await move.keys()                 its keys are moved, some at a time
//     await move.finish()               it belongs to `to`
//   await redis.move(slot, to)          all of that
//   redis.kill(), pause(), resume(), restart()   all members; once they are usable again
//   redis.open(encoding)                the same commands on connections of their own, until close()
class RedisCluster {
  #next = 0;

  constructor(members, password, encoding = 'utf8') {
    Object.assign(this, { members, password, encoding });
  }

  get port() {
    return this.members[0].port;
  }

  get url() {
    const login = this.password ? `:${this.password}@` : '';
    const [s, host] = this.members[0].tlsPort ? ['s', 'localhost'] : ['', '127.0.0.1'];
    return `redis${s}+cluster://${login}${this.members.map(({ port, tlsPort }) => `${host}:${tlsPort ?? port}`).join(',')}`;
  }

  get live() {
    return this.members.filter(({ alive }) => alive);
  }

  // The cluster's view by a live member: [{member, flags, masterId, slots: [[from, to], …]}].
  async nodes(by = this.live[this.#next++ % this.live.length]) {
    const text = await by.cmd('CLUSTER', 'NODES');
    return text
      .trim()
      .split('\n')
      .map((line) => {
        const [id, , flags, masterId, , , , , ...slots] = line.split(' ');
        return {
          member: this.members.find((member) => member.id === id),
          flags: flags.split(','),
          masterId,
          slots: slots.filter((range) => !range.startsWith('[')).map((range) => range.split('-').map(Number)).map(([from, to = from]) => [from, to]),
        };
      });
  }

  async masters() {
    const nodes = (await this.nodes()).filter(({ member, flags, slots }) => member?.alive && flags.includes('master') && slots.length > 0);
    return nodes.sort((a, b) => a.slots[0][0] - b.slots[0][0]).map(({ member }) => member);
  }

  async ownerOf(slot, by) {
    const node = (await this.nodes(by)).find(({ slots }) => slots.some(([from, to]) => from <= slot && slot <= to));
    if (!node) throw new Error(`slot ${slot} has no owner`);
    return node.member;
  }

  slotOf(key) {
    return this.live[0].cmd('CLUSTER', 'KEYSLOT', key);
  }

  async replicaOf(master) {
    const node = (await this.nodes()).find(({ member, masterId }) => member?.alive && masterId === master.id);
    if (!node) throw new Error(`no replica of ${master.port}`);
    return node.member;
  }

  ready() {
    return eventually(
      async () => {
        for (const member of this.live) {
          const info = await member.cmd('CLUSTER', 'INFO');
          if (!info.includes('cluster_state:ok') || !info.includes(`cluster_slots_ok:${SLOTS}`)) return false;
        }
        return true;
      },
      { ...WAIT, what: 'the Redis Cluster is whole' },
    );
  }

  async failover(replica) {
    await following(replica);
    let askedAt = 0;
    await eventually(
      async () => {
        if (await isMaster(replica)) return (await this.masters()).includes(replica);
        // Redis gives up on a failover that has not won its votes in five seconds; then ask again.
        if (Date.now() < askedAt + 8_000) return false;
        askedAt = Date.now();
        return (await replica.cmd('CLUSTER', 'FAILOVER')) === undefined;
      },
      { ...WAIT, what: 'the replica is a master' },
    );
    return this.ready();
  }

  async takenOver(master) {
    const next = await eventually(
      async () => {
        const all = await Promise.all(this.live.map((member) => this.nodes(member)));
        const owners = all.map((nodes) => nodes.find(({ slots }) => slots.some(([from, to]) => from <= master.slots[0] && master.slots[0] <= to))?.member);
        return owners[0] !== master && owners.every((owner) => owner?.alive && owner === owners[0]) && owners[0];
      },
      { ...WAIT, what: `another one has the slots of ${master.port}` },
    );
    await this.ready();
    return next;
  }

  async beginMove(slot, to) {
    const from = await this.ownerOf(slot);
    await to.cmd('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await from.cmd('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    const login = this.password ? ['AUTH', this.password] : [];
    return {
      from,
      to,
      keys: async (atOnce = 20) => {
        let moved = 0;
        for (;;) {
          const keys = await from.cmd('CLUSTER', 'GETKEYSINSLOT', slot, atOnce);
          if (keys.length === 0) return moved;
          await from.cmd('MIGRATE', '127.0.0.1', to.port, '', 0, 30_000, ...login, 'KEYS', ...keys);
          moved += keys.length;
        }
      },
      // The target first, then the source, as redis-cli does: in between both know it.
      finish: async () => {
        await to.cmd('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
        await from.cmd('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
        await eventually(async () => (await Promise.all(this.live.map((member) => this.ownerOf(slot, member)))).every((owner) => owner === to), { ...WAIT, what: `all know where slot ${slot} is` });
      },
    };
  }

  async move(slot, to) {
    const move = await this.beginMove(slot, to);
    await move.keys();
    await move.finish();
  }

  // A command goes to the master of its first key in Parley's prefix, one without a key to all masters: KEYS gives those of
  // all, and so do SLOWLOG GET and CLIENT LIST; other replies are of the first.
  async cmd(...words) {
    const [name, ...rest] = words;
    if (name === 'DEL' && rest.length > 1) return (await Promise.all(rest.map((key) => this.cmd(name, key)))).reduce((sum, n) => sum + n, 0);
    const key = rest.find((word) => /^[\w:.]*\{\w+\}/.test(String(word)));
    if (key !== undefined) return this.#follow(await this.ownerOf(await this.slotOf(key)), words);
    const replies = await Promise.all((await this.masters()).map((master) => master.cmd(...words)));
    if (name === 'KEYS' || `${name} ${rest[0]}` === 'SLOWLOG GET') return replies.flat();
    return name === 'CLIENT' && rest[0] === 'LIST' ? replies.join('') : replies[0];
  }

  open(encoding) {
    const members = this.members.map((member) => {
      const client = new RedisClient(member.port, encoding, this.password);
      return Object.create(member, { cmd: { value: (...words) => client.cmd(...words) }, close: { value: () => client.close() } });
    });
    return Object.assign(new RedisCluster(members, this.password, encoding), { close: () => members.forEach((member) => member.close()) });
  }

  async #follow(member, words, hops = 3) {
    try {
      return await member.cmd(...words);
    } catch (error) {
      const [, kind, port] = /^(MOVED|ASK) \d+ .*:(\d+)$/.exec(error.message) ?? [];
      if (!kind || hops === 0) throw error;
      if (kind === 'MOVED') return this.#follow(this.members.find((each) => each.port === Number(port)), words, hops - 1);
      const client = new RedisClient(Number(port), this.encoding, this.password);
      client.cmd('ASKING').catch(() => {});
      return client.cmd(...words).finally(() => client.close());
    }
  }

  // Of commandstats the calls of all masters, else what the first one says.
  async info(section) {
    const all = await Promise.all((await this.masters()).map((master) => master.info(section)));
    if (section !== 'commandstats') return all[0];
    const sumOf = (name, pattern) => all.reduce((sum, info) => sum + Number(pattern.exec(info[name] ?? '')?.[1] ?? 0), 0);
    const names = new Set(all.flatMap((info) => Object.keys(info)));
    return Object.fromEntries([...names].map((name) => [name, `calls=${sumOf(name, /calls=(\d+)/)},usec=${sumOf(name, /usec=(\d+)/)}`]));
  }

  kill = (signal) => Promise.all(this.members.map((member) => member.kill(signal)));
  pause = () => this.members.forEach((member) => member.pause());
  resume = () => this.members.forEach((member) => member.resume());
  restart = async (words) => {
    await Promise.all(this.members.map((member) => member.restart(words)));
    await this.ready();
  };
  stop = () => stopAll(this.members);
}

// masters: how many; each has `replicas`. nodeTimeoutMs: how long a master is silent before its replica takes over.
export async function startRedisCluster({ masters = 3, replicas = 1, nodeTimeoutMs = 2000, password = '', args = [], ...options } = {}) {
  const n = masters * (1 + replicas);
  const config = async () =>
    `cluster-enabled yes\ncluster-port ${await freePort()}\ncluster-node-timeout ${nodeTimeoutMs}\ncluster-announce-ip 127.0.0.1\n` +
    (options.tls ? 'tls-cluster yes\ntls-replication yes\n' : '') +
    // A replica may always try, however long its master has been away; the slots of one that is gone do not stop the others.
    `cluster-replica-validity-factor 0\ncluster-require-full-coverage no\ncluster-allow-replica-migration no\n${REPLICATING}`;
  const members = await startAll(Array.from({ length: n }, () => startRedis({ config, password, args, ...options })));
  try {
    for (const [i, member] of members.entries()) {
      member.id = await member.cmd('CLUSTER', 'MYID');
      const [busPort] = (await member.cmd('CONFIG', 'GET', 'cluster-port')).slice(1);
      await member.cmd('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      if (i > 0) await members[0].cmd('CLUSTER', 'MEET', '127.0.0.1', member.port, busPort);
      if (i >= masters) continue;
      member.slots = [Math.floor((SLOTS * i) / masters), Math.floor((SLOTS * (i + 1)) / masters) - 1];
      await member.cmd('CLUSTER', 'ADDSLOTSRANGE', ...member.slots);
    }
    const redis = new RedisCluster(members, password, options.encoding);
    await eventually(async () => (await Promise.all(members.map((member) => redis.nodes(member)))).every((nodes) => nodes.length === n && nodes.every(({ member }) => member)), {
      ...WAIT,
      what: 'all members know each other',
    });
    for (const [i, member] of members.entries()) {
      const master = members[i % masters];
      if (i < masters) continue;
      member.slots = master.slots;
      await eventually(async () => (await member.cmd('CLUSTER', 'REPLICATE', master.id)) === 'OK', { ...WAIT, what: 'the replica knows its master' });
    }
    await Promise.all(members.slice(masters).map(following));
    await redis.ready();
    return redis;
  } catch (error) {
    await stopAll(members);
    throw error;
  }
}

// A TCP relay on a port of its own, for what a URL cannot say: a master that is reached at the same address after another
// one took over, and a link that is silent.
//   relay.port, relay.url
//   relay.to(port)       where connections go from now on; those that are there are closed
//   relay.hold()         nothing passes any more, in both directions; release(): all of it does; drop(): none of it ever,
//                        and the connections are closed
//   await relay.stop()
class Relay {
  #held = [];
  #isHolding = false;
  #sockets = new Set();

  constructor(server, port) {
    this.server = server;
    this.target = port;
    this.port = server.address().port;
    this.url = `redis://127.0.0.1:${this.port}/0`;
    server.on('connection', (client) => this.#connect(client));
  }

  #connect(client) {
    const server = net.connect(this.target, '127.0.0.1');
    for (const [from, into] of [[client, server], [server, client]]) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        into.destroy();
      });
      from.on('data', (chunk) => (this.#isHolding ? this.#held.push(() => into.write(chunk)) : into.write(chunk)));
    }
  }

  #cut() {
    for (const socket of this.#sockets) socket.destroy();
  }

  to(port) {
    this.target = port;
    this.#cut();
  }

  hold() {
    this.#isHolding = true;
  }

  release() {
    this.#isHolding = false;
    for (const write of this.#held.splice(0)) write();
  }

  drop() {
    this.#held = [];
    this.#isHolding = false;
    this.#cut();
  }

  async stop() {
    this.server.close();
    this.#cut();
    await once(this.server, 'close');
  }
}

export async function startRelay(port) {
  const server = net.createServer().listen(await freePort(), '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return new Relay(server, port);
}
