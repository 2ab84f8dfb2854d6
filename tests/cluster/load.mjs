// SPDX-License-Identifier: MIT
//
// load: frontends and engines that continue whatever happens to nodes and Redis, and write down all they
// were reported. In the end every promise is compared with what is stored:
//
//   const load = startLoad(cluster, { frontends: 3, engines: 4 });
//   await load.reached(50);       50 queries have ended
//   … something bad happens …
//   await load.reached(50);       50 more
//   await load.finish();          no new queries; all end; everything is compared
//
// A frontend adds under an Idempotency-Key until it gets 200, then waits with check-query. An engine answers each
// attempt with words of its own until it gets 200 or 409, so an answer that was overwritten, lost or stored twice
// shows.
import assert from 'node:assert/strict';
import { eventually, newNonce, newTopic } from '../support/harness.mjs';

const WAIT_S = 5;
const RETRY_MS = 30;
const MEANS_TRY_AGAIN = new Set([429, 503]);
const MEANS_TOO_LATE = new Set(['already_done', 'cancelled', 'failed', 'lease_lost']);

const breath = () => new Promise((resolve) => setTimeout(resolve, RETRY_MS));

export function startLoad(cluster, { frontends = 3, engines = 4, partials = false, nodes } = {}) {
  const queries = new Map(); // "<topic> <seq>" -> what is known of it
  const stored = new Map(); // the same -> the answers that got an engine 200
  const wrong = [];
  const polls = []; // the last one of each engine
  let adding = true;
  let working = true;
  let ended = 0;
  let retries = 0;
  let turn = 0;

  // A live node, each in turn: clients behind a load balancer.
  function pick() {
    const live = (nodes?.() ?? cluster.nodes).filter(({ alive }) => alive);
    return live[turn++ % live.length];
  }

  // Sends until there is an answer that is final; a new nonce each time.
  async function insist(send, isOver = () => false) {
    for (;;) {
      try {
        const response = await send(pick());
        if (!MEANS_TRY_AGAIN.has(response.status)) return response;
      } catch (error) {
        if (isOver()) return null;
        if (!/ECONN|EPIPE|hang up|cut|no answer in/.test(error.message)) throw error;
      }
      if (isOver()) return null;
      retries++;
      await breath();
    }
  }

  async function ask(query) {
    for (;;) {
      const response = await insist((node) =>
        cluster.checkRaw({ Topic: query.Topic, Seq: query.Seq, wait: WAIT_S, detail: true, node, timeout: 30_000 }),
      );
      if (response.status !== 200) {
        throw new Error(`check-query of ${query.Topic} ${query.Seq}: ${response.status} ${response.text}`);
      }
      if (['Done', 'Failed', 'Cancelled'].includes(response.json.Status)) return response.json;
    }
  }

  async function frontend(number) {
    let Topic = newTopic(`load${number}`);
    for (let n = 0; adding; n++) {
      if (n % 5 === 4) Topic = newTopic(`load${number}`);
      const Query = `question ${n} of ${number}`;
      const key = newNonce();
      const added = await insist((node) =>
        cluster.addRaw({ Topic, User: `user${number}`, Query, headers: { 'Idempotency-Key': key }, node }),
      );
      if (added.status !== 200) throw new Error(`add-query: ${added.status} ${added.text}`);
      const query = { Topic, Seq: added.json.Seq, Query };
      const id = `${Topic} ${query.Seq}`;
      if (queries.has(id)) wrong.push(`${id} was given to two queries`);
      queries.set(id, query);
      query.seen = await ask(query);
      ended++;
    }
  }

  async function answer(number, claim, Seq, Query) {
    const id = `${claim.Topic} ${Seq}`;
    const text = `${Query}: answered by engine ${number} under ${claim.Lease}`;
    if (partials) {
      await insist((node) =>
        cluster.request('POST', '/api/give-partial', {
          as: 'Inference_1',
          body: { Topic: claim.Topic, Seq, Lease: claim.Lease, Offset: 0, Answer: text.slice(0, 10) },
          node,
        }),
      );
    }
    const response = await insist((node) =>
      cluster.answerRaw({ Topic: claim.Topic, Seq, Query, Answer: [text], Lease: claim.Lease, node }),
    );
    if (response.status === 200) {
      stored.set(id, (stored.get(id) ?? new Set()).add(text));
    } else if (response.status !== 409 || !MEANS_TOO_LATE.has(response.json.code)) {
      wrong.push(`answer to ${id}: ${response.status} ${response.text}`);
    }
  }

  async function engine(number) {
    while (working) {
      const polled = await insist(
        (node) => {
          const poll = cluster.claimOpen({ wait: WAIT_S, detail: true, node, timeout: 30_000 });
          polls[number] = poll;
          return poll.response;
        },
        () => !working,
      );
      if (polled === null) return;
      if (polled.status !== 200) throw new Error(`get-new-queries: ${polled.status} ${polled.text}`);
      for (const entry of polled.json.Queries ?? []) {
        const [[Seq, Query]] = Object.entries(entry);
        await answer(number, polled.json, Number(Seq), Query);
      }
    }
  }

  const failures = [];
  const note = (error) => failures.push(error);
  const asking = Array.from({ length: frontends }, (_, i) => frontend(i).catch(note));
  const serving = Array.from({ length: engines }, (_, i) => engine(i).catch(note));

  // What is stored is what every client got.
  async function compare(id, query) {
    const final = await ask(query);
    assert.equal(final.Query, query.Query, `${id} holds its own question`);
    assert.deepEqual(final, query.seen, `${id}: the waiter got what is stored`);
    const accepted = [...(stored.get(id) ?? [])];
    if (final.Status === 'Done') {
      assert.equal(accepted.length, 1, `${id}: one answer was accepted, not ${JSON.stringify(accepted)}`);
      assert.deepEqual(final.Answer, accepted, `${id}: the accepted answer is the stored one`);
    } else {
      assert.deepEqual(accepted, [], `${id} is ${final.Status}, but an engine got 200 for its answer`);
    }
    return final.Status;
  }

  return {
    get ended() {
      return ended;
    },
    // How often a request had to be sent again.
    get retries() {
      return retries;
    },
    async reached(n, ms = 90_000) {
      const goal = ended + n;
      await eventually(
        () => {
          if (failures.length) return true;
          return ended >= goal;
        },
        { ms, what: `${n} more queries end` },
      );
      if (failures.length) throw failures[0];
    },
    // Returns how many queries there were, per final state.
    async finish(ms = 90_000) {
      adding = false;
      let all = false;
      Promise.all(asking).then(() => (all = true));
      try {
        await eventually(() => all, { ms, what: 'every query ends' });
      } catch (error) {
        const open = [...queries].filter(([, { seen }]) => !seen).map(([id]) => id);
        throw new Error(`${error.message}: ${open.join(', ')}`);
      } finally {
        working = false;
        polls.forEach((poll) => poll.abort());
      }
      await Promise.all(serving);
      if (failures.length) throw failures[0];
      assert.deepEqual(wrong, []);
      const states = { Done: 0, Failed: 0, Cancelled: 0 };
      for (const [id, query] of queries) states[await compare(id, query)]++;
      // Nothing is stored that no client knows of: Seqs are 1 to n, and so many queries were accepted.
      const topics = new Map();
      for (const { Topic } of queries.values()) topics.set(Topic, (topics.get(Topic) ?? 0) + 1);
      for (const [Topic, n] of topics) {
        const thread = await insist((node) =>
          cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic }, node }),
        );
        assert.deepEqual(
          thread.json.map(({ Seq }) => Seq),
          Array.from({ length: n }, (_, i) => i + 1),
        );
      }
      return states;
    },
    abort() {
      adding = working = false;
      polls.forEach((poll) => poll.abort());
    },
  };
}
