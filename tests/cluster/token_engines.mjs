// SPDX-License-Identifier: MIT
//
// token_engines: engines that write answers piece by piece while nodes and Redis are killed, and are killed themselves:
//
//   const engine = startEngine(cluster, 'socket', { slots, draw, written, pieces, pieceMs });
//   engine.kill();            it dies, and all it holds with it; another one begins in its place
//   await engine.end();       what broke a rule is thrown
//
// transport: 'socket', over /ws/engine; 'routes', with get-new-queries, give-partial and give-new-answer; 'mixed', by turns:
// again and again it leaves one and continues what it holds by the other. It keeps its claims when a connection or a node
// dies, and continues from what is stored, at any node. What it means to write under each lease, other words for each, is in
// `written` (topic -> [{lease, Think, Answer}]) before its first piece is sent.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEngine } from '../support/engine_socket.mjs';

const RETRY_MS = 50;
const POLL_S = 2;
const ANSWER_AGAIN_MS = 5000;
const HOP_MS = 1500;
const MEANS_TRY_AGAIN = new Set([401, 429, 502, 503, 504]); // 401: the nonce came twice, because a node died

const bytesOf = (piece) => Buffer.byteLength(Object.values(piece)[0]);
export const textOf = (pieces, kind) => pieces.map((piece) => piece[kind] ?? '').join('');

// Thoughts and texts of characters of all lengths, cut anywhere between two of them.
export function piecesOf(query, lease, n) {
  const seed = createHash('sha256').update(`${query} ${lease}`).digest();
  const say = (i) => ['a', 'ñ', '—', '🦜'][seed[i % 32] % 4].repeat(1 + (seed[(i * 7) % 32] % 23));
  return Array.from({ length: n }, (_, i) => ({ [i % 9 === 4 ? 'Think' : 'Answer']: `${say(i)} ${lease}/${i}. ` }));
}

// Claims of one engine while it lives: lease -> {Topic, Seq, Query, Lease, pieces, stored}.
class Life {
  held = new Map();
  isOver = false;
}

class TokenEngine {
  #life = new Life();
  #isOver = false;
  #turn = 0;

  constructor(cluster, transport, options) {
    Object.assign(this, { cluster, transport, ...options });
    this.ended = this.#run();
    this.ended.catch(() => {});
  }

  async #run() {
    while (!this.#isOver) {
      if (this.#life.isOver) this.#life = new Life();
      const isSocket = this.transport === 'socket' || (this.transport === 'mixed' && this.#turn++ % 2 === 0);
      try {
        await (isSocket ? this.#overSocket(this.#life) : this.#byRoutes(this.#life));
      } catch (error) {
        if (error.isWrong) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  #node() {
    return this.draw(this.cluster.nodes.length);
  }

  // A session is what writes now: it ends with its connection, with its life, or when it is time to change.
  #session(life, more) {
    const session = { life, until: this.transport === 'mixed' ? Date.now() + HOP_MS : Infinity, isOver: false, ...more };
    session.isOn = (held) => !session.isOver && !life.isOver && Date.now() < session.until && (!held || life.held.has(held.Lease));
    session.failed = new Promise((_, reject) => (session.fail = reject));
    session.failed.catch(() => {});
    return (this.session = session);
  }

  #claim(session, { Topic, Lease, Queries }) {
    const [[seq, Query]] = Queries.flatMap(Object.entries);
    const pieces = piecesOf(Query, Lease, this.pieces);
    const text = { lease: Lease, Think: textOf(pieces, 'Think'), Answer: textOf(pieces, 'Answer') };
    this.written.set(Topic, [...(this.written.get(Topic) ?? []), text]);
    session.life.held.set(Lease, { Topic, Seq: Number(seq), Query, Lease, pieces, text, stored: 0 });
    this.#write(session, session.life.held.get(Lease));
  }

  // Sends what is not stored yet, then the answer until it is taken.
  #write(session, held) {
    return this.#send(session, held).catch(session.fail);
  }

  async #send(session, held) {
    let end = 0;
    const pieces = held.pieces.map((piece) => ({ piece, Offset: end, end: (end += bytesOf(piece)) }));
    for (held.at = held.stored; held.at < end; ) {
      if (!session.isOn(held)) return;
      const next = pieces.find((one) => one.end > held.at);
      held.at = next.end; // before it is sent: a refusal sets it back
      await session.partial(held, { Offset: next.Offset, ...next.piece });
      await sleep(this.pieceMs);
    }
    const { Think, Answer } = held.text;
    while (session.isOn(held)) await session.answer(held, { Query: held.Query, Think: [Think], Answer: [Answer] });
  }

  // Text is missing: it continues where the node says, which is not before what was reported as stored. Another 409: the claim
  // has ended.
  #refuse({ life }, held, { status, code, detail, expected }) {
    if (code === 'partial_gap' && expected >= held.stored) held.at = expected;
    else if (status === 409 && code !== 'partial_gap') life.held.delete(held.Lease);
    else throw Object.assign(new Error(`${held.Topic}, stored to ${held.stored}: ${status} ${code} ${expected ?? ''} ${detail}`), { isWrong: true });
  }

  // --- over its socket ---------------------------------------------------------------------------

  async #overSocket(life) {
    const engine = await openEngine(this.cluster, { node: this.#node(), slots: Math.max(0, this.slots - life.held.size) });
    const send = (Type, { Topic, Seq, Lease }, more) => engine.send({ Type, Topic, Seq, Lease, ...more });
    const session = this.#session(life, {
      cut: () => engine.cut(),
      partial: (held, piece) => send('partial', held, piece),
      answer: (held, body) => {
        send('answer', held, body);
        return Promise.race([sleep(ANSWER_AGAIN_MS), new Promise((resolve) => (held.onReply = resolve))]);
      },
    });
    const hop = session.until === Infinity ? undefined : setTimeout(() => engine.cut(), HOP_MS);
    try {
      for (const held of life.held.values()) this.#write(session, held);
      for (;;) this.#take(session, await Promise.race([engine.next(() => true, 3_600_000), session.failed]));
    } finally {
      session.isOver = true;
      clearTimeout(hop);
      engine.cut();
    }
  }

  #take(session, { Type, Body, Lease, Next, Status, To, detail }) {
    const held = session.life.held.get(Lease);
    if (Type === 'claim') this.#claim(session, Body);
    if (Type === 'stored' && held) held.stored = Math.max(held.stored, Next);
    if (Type === 'error') throw Object.assign(new Error(`a frame: ${detail}`), { isWrong: true });
    if (Type !== 'reply' || !held) return;
    if (MEANS_TRY_AGAIN.has(Status)) held.at = Math.min(held.at, held.stored);
    else if (Status !== 200) this.#refuse(session, held, Body);
    else if (To === 'answer') session.life.held.delete(Lease);
    held.onReply?.();
  }

  // --- by the routes -------------------------------------------------------------------------------

  async #byRoutes(life) {
    const session = this.#session(life, {
      cut: () => {},
      partial: async (held, piece) => {
        const body = await this.#post(session, '/api/give-partial', held, piece);
        held.stored = Math.max(held.stored, body?.Next ?? 0);
      },
      answer: async (held, body) => {
        if (await this.#post(session, '/api/give-new-answer', held, body)) life.held.delete(held.Lease);
      },
    });
    for (const held of life.held.values()) this.#write(session, held);
    try {
      while (session.isOn()) {
        const claim = life.held.size < this.slots && (await Promise.race([this.#poll(session), session.failed]));
        if (!claim) await Promise.race([sleep(RETRY_MS), session.failed]);
        else if (!life.isOver) this.#claim(session, claim);
      }
    } finally {
      session.isOver = true;
    }
  }

  async #poll(session) {
    try {
      const { status, json } = await this.cluster.claimRaw({ wait: session.until === Infinity ? POLL_S : 0, detail: true, node: this.#node(), timeout: 30_000 });
      return status === 200 && json.Topic ? json : null;
    } catch {
      return null; // Its node is gone: a claim that was on its way ends with its lease.
    }
  }

  // Sends it until a node has an answer: the body, or null when it is refused, or the session has ended.
  async #post(session, path, held, more) {
    const { Topic, Seq, Lease } = held;
    while (session.isOn(held)) {
      const response = await this.cluster
        .request('POST', path, { as: 'Inference_1', body: { Topic, Seq, Lease, ...more }, node: this.#node(), timeout: 30_000 })
        .catch(() => ({ status: 503 }));
      if (response.status === 200) return response.json;
      if (!MEANS_TRY_AGAIN.has(response.status)) {
        this.#refuse(session, held, { status: response.status, ...response.json });
        return null;
      }
      await sleep(RETRY_MS);
    }
    return null;
  }

  // --- its end -------------------------------------------------------------------------------------

  kill() {
    this.#life.isOver = true;
    this.#life.held.clear();
    this.session?.cut();
  }

  end() {
    this.#isOver = true;
    this.kill();
    return this.ended;
  }
}

export const startEngine = (cluster, transport, options) => new TokenEngine(cluster, transport, options);
