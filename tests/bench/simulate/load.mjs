// SPDX-License-Identifier: MIT
//
// load: engines that poll the virtual nodes, clients that ask and wait, and what they saw, as tests/cluster/chaos_checker.mjs reads it.
import { prefixesOf, shardOf } from '../../support/shards.mjs';

const TOPICS = 5000;
const LOOK_MS = 200; // until a client whose node has died asks another
const BACK_MS = [50, 1000]; // until an engine does

export class Load {
  constructor(world, { engines, rate, answerMs }) {
    Object.assign(this, { world, clock: world.clock, rate, answerMs });
    this.questions = [];
    this.events = [];
    this.open = new Set(); // questions that are acknowledged and not answered yet
    this.engines = Array.from({ length: engines }, (_, i) => this.makeEngine(i));
    this.isOver = false;
  }

  pick(list) {
    return list[Math.floor(Math.random() * list.length)];
  }

  between([least, most]) {
    return least + Math.random() * (most - least);
  }

  makeEngine(number) {
    const engine = { number, node: undefined, isBusy: false };
    engine.onEnd = () => this.clock.after(this.between(BACK_MS), () => this.poll(engine));
    engine.onClaim = (claim) => this.work(engine, claim);
    return engine;
  }

  poll(engine, node = engine.node) {
    if (this.isOver) return;
    engine.isBusy = false;
    engine.node = node?.isUp ? node : this.pick(this.world.alive());
    engine.node.poll(engine);
  }

  work(engine, claim) {
    const sent = this.clock.now();
    engine.isBusy = true;
    this.events.push({ did: 'claim', topic: claim.topic, lease: claim.lease, rows: claim.rows, sent: 0, at: sent });
    const each = async () => {
      for (const [seq, query] of claim.rows) {
        await this.clock.pass(-Math.log(1 - Math.random()) * this.answerMs);
        await this.answer(engine, claim, seq, query);
      }
      this.poll(engine);
    };
    each();
  }

  // Sent again by another node until it is known what became of it.
  async answer(engine, claim, seq, query) {
    const text = `${query} ${claim.lease}`;
    this.events.push({ did: 'try', query, text });
    for (;;) {
      const node = engine.node.isUp ? engine.node : this.pick(this.world.alive());
      const tag = await new Promise((resolve) => node.answer(claim, seq, query, text, resolve));
      if (tag !== null) {
        this.events.push({ did: 'answered', query, text, status: tag === 'ok' || tag === 'same' ? 200 : 409, at: this.clock.now() });
        return;
      }
      await this.clock.pass(this.between(BACK_MS));
    }
  }

  ask() {
    const n = this.questions.length;
    const question = { topic: `t${Math.floor(Math.random() * TOPICS)}`, text: `Q${n}?`, begun: this.clock.now(), seen: [], isDoubtful: false };
    this.questions.push(question);
    const node = this.pick(this.world.alive());
    const onOutcome = (lines) => {
      if (!this.open.delete(question)) return;
      node.waiting.delete(`${question.topic} ${question.seq}`);
      question.answered = this.clock.now();
      question.seen.push([JSON.parse(lines[10])]);
    };
    question.node = node;
    question.onOutcome = onOutcome;
    node.add({ topic: question.topic, user: `user${n % 1000}`, text: question.text }, (seq) => {
      if (seq === null) return (question.isDoubtful = true);
      question.seq = seq;
      question.acked = this.clock.now();
      this.open.add(question);
    }, onOutcome);
  }

  // Clients whose node has died look at another one.
  look() {
    for (const question of this.open) {
      if (question.node.isUp) continue;
      question.node = this.pick(this.world.alive());
      question.node.check(question.topic, question.seq, question.onOutcome);
    }
  }

  start() {
    this.engines.forEach((engine, i) => this.clock.after(Math.random() * 1000, () => this.poll(engine, this.world.nodes[i % this.world.nodes.length])));
  }

  // Asks for so long, evenly.
  async askFor(ms) {
    const end = this.clock.now() + ms;
    let owed = 0;
    for (let last = this.clock.now(); last < end; ) {
      await this.clock.pass(10);
      const now = this.clock.now();
      owed += ((Math.min(now, end) - last) * this.rate) / 1000;
      for (; owed >= 1; owed--) this.ask();
      last = now;
      if (Math.floor(now / LOOK_MS) !== Math.floor((now - 10) / LOOK_MS)) this.look();
    }
  }

  // Until every question that was acknowledged has its answer; for so long at most.
  async drain(ms) {
    const end = this.clock.now() + ms;
    while (this.open.size > 0 && this.clock.now() < end) {
      await this.clock.pass(LOOK_MS);
      this.look();
    }
  }

  // What is stored, for the checker.
  async threads() {
    const threads = new Map();
    for (const topic of new Set(this.questions.map((question) => question.topic))) {
      const shard = shardOf(topic, this.world.shards);
      const flat = await this.world.links.call(shard, ['HGETALL', `${prefixesOf(this.world.shards)[shard]}t:${topic}`]);
      const hash = Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]));
      const rows = Array.from({ length: Number(hash.seq ?? 0) }, (_, i) => ({
        Seq: i + 1,
        Query: JSON.parse(hash[`q:${i + 1}`].split('\n')[6]),
        Status: { D: 'Done', P: 'Pending', F: 'Failed' }[hash[`s:${i + 1}`]?.[0]] ?? 'Open',
        Answer: hash[`a:${i + 1}`] ? [JSON.parse(hash[`a:${i + 1}`].split('\n')[0])] : [],
      }));
      if (rows.length) threads.set(topic, rows);
    }
    return threads;
  }
}
