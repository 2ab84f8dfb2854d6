// SPDX-License-Identifier: MIT
//
// vacancies: nodes whose questions the queue has refused are sent how many it would take now, and notified when a claim
// makes room.
import assert from 'node:assert/strict';
import { lines, scripts, set } from '../../support/lua.mjs';

const meta = (depth, more) => ({ meta: { lease: 0, depth, vt: '0.000000', ...more } });
const wait = (account, user, wanted, max = '', model = 'default') => [account, user, model, wanted, max];
const vacancies = (...waits) => ['vacancies', ...waits.flat()];
const waits = { vacancy_nodes: set('n1') };

scripts('vacancies', ({ cases, test, shard }) => {
  cases([
    { name: 'an empty queue takes all, and nobody waits', call: vacancies(wait('F', 'alice', 3)), reply: lines('F', 'alice', 'default', 3) },
    { name: 'a user gets as many as it may have', before: { ...meta(2), waiting: { 'F alice': 2 } }, call: vacancies(wait('F', 'alice', 9, 5)), reply: lines('F', 'alice', 'default', 3), after: { ...meta(2, { vacancy: 1 }), ...waits } },
    { name: 'also for two models together', before: { ...meta(2), waiting: { 'F alice': 2 } }, call: vacancies(wait('F', 'alice', 2, 5), wait('F', 'alice', 2, 5, 'm')), reply: lines('F', 'alice', 'default', 2, 'F', 'alice', 'm', 1), after: { ...meta(2, { vacancy: 1 }), ...waits } },
    { name: 'an account gets no more than its share', before: { ...meta(4), shares: { F: 4 } }, frame: { queueMax: 10 }, call: vacancies(wait('F', 'alice', 3), wait('F', 'bob', 3)), reply: lines('F', 'alice', 'default', 1), after: { ...meta(4, { vacancy: 1 }), ...waits } },
    { name: 'what room there is is divided between accounts, then goes to the user that is named first', before: { ...meta(6) }, frame: { queueMax: 10 }, call: vacancies(wait('F', 'alice', 5), wait('F', 'bob', 5), wait('G', 'eve', 5)), reply: lines('F', 'alice', 'default', 2, 'G', 'eve', 'default', 2), after: { ...meta(6, { vacancy: 1 }), ...waits } },
    { name: 'a full queue takes none', before: { ...meta(10) }, frame: { queueMax: 10 }, call: vacancies(wait('F', 'alice', 1)), reply: '', after: { ...meta(10, { vacancy: 1 }), ...waits } },
    { name: 'nobody asks', call: vacancies(), reply: '' },
  ]);

  const ask = (topic) => ['ask', '', topic, 'alice', 'F', 'default', 1, '{}\n\n\n\n""', 2];

  test('each node that waits is notified once, by the claim that makes room', async () => {
    await shard.seed({ engines: { 'E -': `${Date.now()} {}` } });
    for (const topic of ['a1', 'a2']) assert.match(await shard.call(...ask(topic)), /^ok/);
    assert.match(await shard.call(...ask('a3')), /^waiting/);
    for (const node of ['n1', 'n2']) assert.equal((await shard.turn([vacancies(wait('F', 'alice', 1, 2))], { node })).replies[0], '');
    const { replies, events } = await shard.turn([['claim', 0, 'E|*', 1]], { node: 'n1' });
    assert.match(replies[0], /^claim|a1/);
    assert.deepEqual(events.filter((event) => event === 'vacancy'), ['vacancy'], 'its own event is in the reply');
    assert.equal(await shard.cmd('EXISTS', shard.key('vacancy_nodes')), 0);
    assert.equal((await shard.get('meta')).vacancy, undefined);
    assert.equal(await shard.call(...vacancies(wait('F', 'alice', 1, 2))), lines('F', 'alice', 'default', 1));
    assert.deepEqual((await shard.turn([['claim', 0, 'E|*', 1]], { node: 'n1' })).events.filter((event) => event === 'vacancy'), []);
  });
});
