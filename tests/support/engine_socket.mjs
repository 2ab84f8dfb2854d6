// SPDX-License-Identifier: MIT
//
// engine_socket: an engine at its socket, as one writes it in a test.
//
//   const engine = await openEngine(cluster, { as: 'Inference_1', node: 0, slots: 2, engine: 'e1' });
//   const claim = await engine.claim();               the next one; its topic, lease and Seqs
//   engine.send({ Type: 'partial', ... });            a frame without an answer
//   const reply = await engine.ask({ Type: 'answer', ... });    its reply, by Id
//
// token: of a login that many share. address: where it comes from.
import { openWatch } from './websocket.mjs';

class Engine {
  #watch;
  #frames = [];
  #id = 0;

  constructor(watch) {
    this.#watch = watch;
  }

  // The next frame that fits; those before it are kept for others.
  async next(fits, ms) {
    for (;;) {
      const at = this.#frames.findIndex(fits);
      if (at >= 0) return this.#frames.splice(at, 1)[0];
      this.#frames.push(await this.#watch.next(ms));
    }
  }

  async claim(ms) {
    return (await this.next(({ Type }) => Type === 'claim', ms)).Body;
  }

  fault(ms) {
    return this.next(({ Type }) => Type === 'error', ms);
  }

  send(frame) {
    this.#watch.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  ask(frame, ms) {
    const Id = ++this.#id;
    this.send({ Id, ...frame });
    return this.next(({ Type, Id: of }) => Type === 'reply' && of === (frame.Id ?? Id), ms);
  }

  // Answers every query of a claim.
  async answer(claim, Answer = ['done']) {
    const replies = [];
    for (const row of claim.Queries) {
      const [[seq, Query]] = Object.entries(row);
      replies.push(await this.ask({ Type: 'answer', Topic: claim.Topic, Seq: Number(seq), Query, Lease: claim.Lease, Answer }));
    }
    return replies;
  }

  close() {
    return this.#watch.close();
  }

  // The connection, for bytes that are no frame.
  get raw() {
    return this.#watch.socket._socket;
  }

  cut() {
    this.#watch.socket.terminate();
  }

  closed(ms) {
    return this.#watch.closed(ms);
  }
}

export const tokenOf = async (cluster, as) => (await cluster.request('GET', '/api/login', { as })).json.Token;

export async function openEngine(cluster, { as = 'Inference_1', node = 0, slots, engine, token, address, query = {} } = {}) {
  const params = new URLSearchParams({ token: token ?? (await tokenOf(cluster, as)), ...(slots !== undefined && { Slots: slots }), ...(engine && { Engine: engine }), ...query });
  return new Engine(await openWatch(`${cluster.nodes[node].url}/ws/engine?${params}`, address ? { localAddress: address } : {}));
}
