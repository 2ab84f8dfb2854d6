// SPDX-License-Identifier: MIT
//
// Those who follow an answer while it is written, over the engine's socket and by its routes: late, slow, resumed, with texts of
// all kinds and sizes, and with engines that are wrong. Each viewer's ids are those of the bytes that it was sent.
import assert from 'node:assert/strict';
import { openEngine } from '../support/engine_socket.mjs';
import { verbCalls } from '../cluster/watch.mjs';
import { assertOk, suite } from '../support/harness.mjs';

const MIB = 1 << 20;
const bytesOf = (text) => Buffer.byteLength(text);
const textsOf = (events, name) => events.filter(({ event }) => event === name).map(({ data }) => data.text).join('');

// A question that an engine has, and ways to write its answer:
//   answer.say({ Answer: 'more' })       the next piece; say(piece, Offset) says another offset. Resolves with {Status, Body} of a
//                                        route, and over the socket at once
//   answer.ask(piece, Offset)            the same, once it is stored or refused
//   answer.end(Answer, Think)            the answer; of what was said, if it is not given
class Answer {
  said = { Think: '', Answer: '' };
  offset = 0;

  note(piece) {
    const Offset = this.offset;
    for (const kind of ['Think', 'Answer']) {
      this.said[kind] += piece[kind] ?? '';
      this.offset += bytesOf(piece[kind] ?? '');
    }
    return Offset;
  }

  row() {
    const { Topic, Lease } = this.claim;
    return { Topic, Seq: 1, Lease };
  }

  body(piece, Offset) {
    return { ...this.row(), Offset: Offset ?? this.note(piece), ...piece };
  }

  async end(Answer = [this.said.Answer], Think = this.said.Think ? [this.said.Think] : undefined) {
    const { Status, Body } = await this.finish({ ...this.row(), Query: Object.values(this.claim.Queries[0])[0], Answer, Think });
    assert.equal(Status, 200, JSON.stringify(Body));
  }
}

class SocketAnswer extends Answer {
  async say(piece, Offset) {
    this.engine.send({ Type: 'partial', ...this.body(piece, Offset) });
  }

  ask(piece, Offset) {
    return this.engine.ask({ Type: 'partial', ...this.body(piece, Offset) });
  }

  finish(body) {
    return this.engine.ask({ Type: 'answer', ...body });
  }

  release(more) {
    return this.engine.ask({ Type: 'release', Topic: this.claim.Topic, Lease: this.claim.Lease, Reason: 'enough', ...more });
  }

  close() {
    return this.engine.close();
  }
}

class RouteAnswer extends Answer {
  async #post(path, body) {
    const { status, json } = await this.cluster.request('POST', path, { as: 'Inference_1', body });
    return { Status: status, Body: json };
  }

  say(piece, Offset) {
    return this.#post('/api/give-partial', this.body(piece, Offset));
  }

  ask(piece, Offset) {
    return this.say(piece, Offset);
  }

  finish(body) {
    return this.#post('/api/give-new-answer', body);
  }

  release(more) {
    return this.#post('/api/release-claim', { Topic: this.claim.Topic, Lease: this.claim.Lease, Reason: 'enough', ...more });
  }

  async close() {}
}

const BEGIN = {
  'over the socket': async (cluster) => {
    const engine = await openEngine(cluster, { slots: 1 });
    return Object.assign(new SocketAnswer(), { engine, next: () => engine.claim() });
  },
  'by the routes': async (cluster) => Object.assign(new RouteAnswer(), { cluster, next: () => cluster.claim({ wait: 30, detail: true }) }),
};

// A stream whose ids are held to the bytes that it brings.
class Viewer {
  shown = { think: '', token: '' };
  events = [];
  #at;

  constructor(stream, id) {
    this.stream = stream;
    this.#at = (id ?? '0-0').split('-').map(Number);
  }

  note(event) {
    this.events.push(event);
    const { event: name, id, data } = event;
    if (name === 'restart') [this.shown, this.#at] = [{ think: '', token: '' }, [this.#at[0], 0]];
    if (name === 'reset') this.shown.token = data.text;
    if (!(name in this.shown)) return assert.equal(id, undefined, name);
    const [claim, offset] = id.split('-').map(Number);
    if (claim !== this.#at[0]) this.#at = [claim, 0];
    assert.doesNotMatch(data.text, /\ufffd/);
    if (this.isWithin !== true) assert.equal(offset, this.#at[1] + bytesOf(data.text), id);
    assert.ok(offset > this.#at[1], `${id} rises`);
    [this.#at, this.id, this.isWithin] = [[claim, offset], id, false];
    this.shown[name] += data.text;
  }

  async until(fits) {
    while (!fits(this)) {
      const event = await this.stream.next();
      assert.notEqual(event, null, 'the stream ended');
      this.note(event);
    }
    return this;
  }

  has(token, think = '') {
    return this.until(({ shown }) => shown.token.length >= token.length && shown.think.length >= think.length);
  }

  async end() {
    for (const event of await this.stream.until('done')) this.note(event);
    return this.events.at(-1).data;
  }

  names() {
    return this.events.map(({ event }) => event).filter((name) => name !== 'queue');
  }
}

for (const [how, create] of Object.entries(BEGIN)) {
  suite(`viewers of an answer that is written ${how}`, { args: ['--max-attempts', '10', '--body-max-bytes', String(2 * MIB)] }, ({ test, cluster }) => {
    const watch = async (Topic, { node = 1, id } = {}) =>
      new Viewer(await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node, headers: id === undefined ? {} : { 'Last-Event-ID': id } }), id);

    async function begin() {
      const answer = await create(cluster);
      await cluster.add();
      answer.claim = await answer.next();
      answer.Topic = answer.claim.Topic;
      return answer;
    }

    async function assertAllHave(viewers, Topic) {
      const { Answer, Think } = await cluster.check({ Topic });
      for (const viewer of viewers) {
        await viewer.end();
        assert.deepEqual([viewer.shown.token, viewer.shown.think], [(Answer ?? []).join(''), (Think ?? []).join('')]);
      }
    }

    test('one that comes late has all at once, in the middle and after the end', async () => {
      const answer = await begin();
      const viewers = [await watch(answer.Topic, { node: 0 })];
      for (let i = 0; i < 30; i++) {
        await answer.say(i % 5 === 1 ? { Think: `(${i}) ` } : { Answer: `${i}ñ ` });
        if (i % 10 === 4) viewers.push(await watch(answer.Topic, { node: i % 2 }), await watch(answer.Topic, { node: 1 }));
      }
      await answer.end();
      viewers.push(await watch(answer.Topic, { node: 0 }));
      await assertAllHave(viewers, answer.Topic);
      for (const viewer of viewers) assert.ok(!viewer.names().some((name) => ['restart', 'reset'].includes(name)));
      await answer.close();
    });

    test('one that reads slowly has all of it in the end, and nobody waits for it', async () => {
      const answer = await begin();
      const slow = await cluster.socket({ node: 1 });
      slow.write(`GET ${cluster.path('/api/check-query', { as: 'Frontend_1', query: { Topic: answer.Topic, Seq: 1 } })} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`);
      const quick = await watch(answer.Topic);
      slow.pause();
      const piece = 'yñ—🦜'.repeat(3000);
      for (let i = 0; i < 30; i++) await answer.say({ Answer: `${i} ${piece}` });
      await answer.end();
      await assertAllHave([quick], answer.Topic);
      slow.resume();
      const { text } = await slow.response();
      const events = text.split('\n\n').filter((block) => /^event: token$/m.test(block));
      const shown = events.map((block) => JSON.parse(/^data: (.*)$/m.exec(block)[1]).text).join('');
      assert.ok(shown === answer.said.Answer, `${shown.length} of ${answer.said.Answer.length}`);
      slow.abort();
      await answer.close();
    });

    test('one that asks for 1-0 has the first claim from its start; a later one begins with a restart', async () => {
      const { Topic } = await cluster.add();
      const early = await watch(Topic, { id: '1-0' });
      await early.until(({ events }) => events.some(({ event }) => event === 'queue'));
      const answer = await create(cluster);
      answer.claim = await answer.next();
      await answer.say({ Answer: 'First ' });
      await answer.say({ Answer: 'claim.' });
      const first = [early, await watch(Topic, { id: '1-0' }), await watch(Topic, { node: 0, id: '1-0' })];
      for (const viewer of first) await viewer.has('First claim.');
      await answer.release();
      Object.assign(answer, { claim: await answer.next(), said: { Think: '', Answer: '' }, offset: 0 });
      await answer.say({ Answer: 'Second' });
      const second = [await watch(Topic, { id: '1-0' }), await watch(Topic, { node: 0, id: '1-0' })];
      for (const viewer of [...first, ...second]) await viewer.until(({ shown }) => shown.token === 'Second');
      await answer.say({ Answer: ' one.' });
      await answer.end();
      await assertAllHave([...first, ...second, await watch(Topic, { id: '1-0' })], Topic);
      // The first claim begins with a restart, too.
      for (const viewer of [...first, ...second]) assert.equal(viewer.names().filter((name) => name === 'restart').length, viewer === early ? 2 : 1);
      assert.equal(first[0].id.split('-')[0], '2');
      await answer.close();
    });

    test('characters of several bytes that are cut anywhere: a viewer has whole ones, from the next one on', async () => {
      const answer = await begin();
      const texts = ['Añ🦜', ' — é', '漢字', '👩‍👩‍👧', '\u{10FFFF}.'];
      for (const Answer of texts) await answer.say({ Answer });
      const bytes = Buffer.from(texts.join(''));
      await (await watch(answer.Topic)).has(texts.join('')); // all is there, stored or not
      for (let offset = 1; offset < bytes.length; offset++) {
        let from = offset;
        while ((bytes[from] & 0xc0) === 0x80) from++;
        const viewer = await watch(answer.Topic, { node: offset % 2, id: `1-${offset}` });
        viewer.isWithin = from !== offset;
        const rest = bytes.subarray(from).toString();
        if (rest) await viewer.has(rest);
        assert.equal(viewer.shown.token, rest, `from byte ${offset}`);
        viewer.stream.abort();
      }
      const staying = await watch(answer.Topic, { node: 0, id: `1-${bytes.length}` });
      await answer.say({ Answer: 'ñ' });
      await answer.end();
      await staying.end();
      assert.equal(staying.shown.token, 'ñ');
      await answer.close();
    });

    test('thoughts and answer that follow each other keep their order, wherever a viewer is cut off', async () => {
      const answer = await begin();
      const pieces = Array.from({ length: 24 }, (_, i) => (i % 3 === 0 ? { Think: `<${i}ñ>` } : i % 3 === 1 ? { Answer: `${i}🦜 ` } : { Think: `[${i}]`, Answer: `${i}— ` }));
      const live = await watch(answer.Topic, { node: 0 });
      for (const piece of pieces) {
        await answer.say(piece);
        await live.has(answer.said.Answer, answer.said.Think);
      }
      await answer.end();
      await live.end();
      assert.deepEqual([live.shown.token, live.shown.think], [answer.said.Answer, answer.said.Think]);
      const ids = live.events.filter(({ id }) => id !== undefined);
      assert.ok(ids.length >= 24, `${ids.length} events`);
      for (const [i, { id }] of ids.entries()) {
        const rest = await watch(answer.Topic, { node: i % 2, id });
        await rest.end();
        for (const [name, kind] of [['token', 'Answer'], ['think', 'Think']]) assert.equal(textsOf(ids.slice(0, i + 1), name) + rest.shown[name], answer.said[kind], id);
      }
      await answer.close();
    });

    test('pieces of thoughts and answer come at once, and nobody reads what is stored meanwhile', async () => {
      const answer = await begin();
      const viewers = [await watch(answer.Topic, { node: 0 }), await watch(answer.Topic, { node: 1 })];
      await answer.say({ Answer: 'First. ' });
      for (const viewer of viewers) await viewer.has('First. ');
      const reads = () => Promise.all([0, 1].map((node) => verbCalls(cluster, node, 'partials')));
      const before = await reads();
      for (let i = 0; i < 20; i++) {
        await answer.say({ Think: `(${i}) `, Answer: `${i}. ` });
        for (const viewer of viewers) await viewer.has(answer.said.Answer, answer.said.Think);
      }
      const after = await reads();
      for (const node of [0, 1]) assert.ok(after[node] - before[node] < 20, `node ${node} read ${after[node] - before[node]} times`);
      await answer.end();
      await assertAllHave(viewers, answer.Topic);
      await answer.close();
    });

    test('a claim that is lost is a restart, for viewers that stay and for those that come back', async () => {
      const answer = await begin();
      await answer.say({ Think: 'Hm. ', Answer: 'False start' });
      const staying = await watch(answer.Topic, { node: 0 });
      await staying.has('False start', 'Hm. ');
      const { id } = staying;
      assert.equal(id, '1-15');
      await answer.release();
      Object.assign(answer, { claim: await answer.next(), said: { Think: '', Answer: '' }, offset: 0 });
      await answer.say({ Answer: 'Now ' });
      const back = await watch(answer.Topic, { id });
      for (const viewer of [staying, back]) await viewer.until(({ shown }) => shown.token === 'Now ');
      await answer.say({ Answer: 'then.' });
      await answer.end();
      await assertAllHave([staying, back], answer.Topic);
      for (const viewer of [staying, back]) assert.equal(viewer.names().filter((name) => name === 'restart').length, 1);
      assert.equal(back.names()[0], 'restart');
      await answer.close();
    });

    test('an answer that is not what its pieces said is a reset', async () => {
      const answer = await begin();
      const viewers = [await watch(answer.Topic, { node: 0 }), await watch(answer.Topic, { node: 1 })];
      await answer.say({ Answer: 'The earth is flat.' });
      for (const viewer of viewers) await viewer.has('The earth is flat.');
      const back = await watch(answer.Topic, { id: '1-4' });
      await answer.end(['The earth is round.']);
      await assertAllHave([...viewers, back], answer.Topic);
      for (const viewer of [...viewers, back]) assert.deepEqual(viewer.names().slice(-2), ['reset', 'done']);
      await answer.close();
    });

    test('an answer of 1 MiB is sent byte by byte, live, late and resumed; more of it comes with the answer', async () => {
      const answer = await begin();
      const live = await watch(answer.Topic, { node: 1 });
      const unit = 'Añ—🦜'; // ten bytes
      const piece = unit.repeat(1638) + 'abcd'; // 16 KiB
      assert.equal(MIB % bytesOf(piece), 0);
      const late = [];
      for (let n = 0; n < MIB; n += bytesOf(piece)) {
        await answer.say({ Answer: piece });
        if (n === 20 * bytesOf(piece)) late.push(await watch(answer.Topic, { node: 0 }), await watch(answer.Topic, { id: `1-${n}` }));
      }
      const beyond = await answer.ask({ Answer: '!' }, MIB);
      assert.deepEqual([beyond.Status, beyond.Body.code], [413, 'too_large']);
      await answer.end([`${answer.said.Answer}, and more`]);
      const all = `${answer.said.Answer}, and more`;
      for (const viewer of [live, late[0], await watch(answer.Topic, { node: 0 })]) {
        assert.equal((await viewer.end()).Answer[0].length, all.length);
        assert.ok(viewer.shown.token === all, 'byte by byte');
      }
      await late[1].end();
      assert.ok(late[1].shown.token === Buffer.from(all).subarray(20 * bytesOf(piece)).toString());
      await answer.close();
    });

    test('a partial answer after a cancel is answered so, and shown to nobody', async () => {
      const answer = await begin();
      const viewers = [await watch(answer.Topic, { node: 0 }), await watch(answer.Topic, { node: 1 })];
      await answer.say({ Answer: 'before' });
      for (const viewer of viewers) await viewer.has('before');
      assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic: answer.Topic, Seq: 1 } }));
      const { Status, Body } = await answer.ask({ Answer: ' after' });
      assert.deepEqual([Status, Body.Cancelled], [200, true]);
      for (const viewer of [...viewers, await watch(answer.Topic)]) {
        await viewer.stream.ended();
        for (const event of viewer.stream.rest()) viewer.note(event);
        assert.equal(viewer.events.at(-1).data.Status, 'Cancelled');
        assert.ok('before'.startsWith(viewer.shown.token), viewer.shown.token);
      }
      assert.equal(viewers[0].shown.token, 'before');
      const row = { ...answer.row(), Query: 'x', Answer: ['late'] };
      assert.equal((await answer.finish(row)).Status, 409);
      await answer.close();
    });

    test('offsets that lie: no viewer has a byte twice, and each has the stored answer in the end', async () => {
      const answer = await begin();
      const viewers = [await watch(answer.Topic, { node: 0 }), await watch(answer.Topic, { node: 1 })];
      await answer.ask({ Answer: 'äbc' }, 0);
      const lies = [[0, 'äbc'], [0, 'ä'], [2, 'bcd'], [1, 'äb'], [99, 'x'], [2, 'bcde'], [4, 'de'], [6, 'f🦜'], [7, '🦜'], [8, 'g'], [2 ** 40, 'y'], [11, 'g'], [3, '']];
      for (const [offset, Answer] of lies) await answer.say({ Answer }, offset);
      const { Status, Body } = await answer.ask({ Answer: '' }, 0);
      assert.ok(Status === 200 || Body.code === 'partial_gap', JSON.stringify(Body));
      await answer.end(['äbcdef🦜g']);
      await assertAllHave([...viewers, await watch(answer.Topic, { node: 0 })], answer.Topic);
      for (const { events } of viewers) {
        const ids = events.filter(({ id }) => id).map(({ id }) => Number(id.split('-')[1]));
        assert.deepEqual([...new Set(ids)].sort((a, b) => a - b), ids);
      }
      await answer.close();
    });

    test('a hundred that leave and come back at once have all of it', async () => {
      const answer = await begin();
      const seen = await Promise.all(Array.from({ length: 100 }, (_, i) => watch(answer.Topic, { node: i % 2 })));
      await answer.say({ Answer: 'One, ' });
      await Promise.all(seen.map((viewer) => viewer.has('One, ')));
      await answer.say({ Answer: 'two, ' });
      for (const { stream } of seen) stream.abort();
      const back = await Promise.all(seen.map(({ id }, i) => watch(answer.Topic, { node: (i + 1) % 2, id })));
      await answer.say({ Answer: 'three.' });
      await answer.end();
      for (const [i, viewer] of back.entries()) {
        await viewer.end();
        assert.equal(seen[i].shown.token + viewer.shown.token, 'One, two, three.');
      }
      await answer.close();
    });
  });
}
