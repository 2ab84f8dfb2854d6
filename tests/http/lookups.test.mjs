// SPDX-License-Identifier: MIT
//
// add-lookup, get-lookups, get-new-lookup, give-new-matches.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  assertMembers,
  assertOk,
  assertProblem,
  assertZonelessTimestamp,
  eventually,
  newNonce,
  newTopic,
  SLOW_RESCUE,
  suite,
} from '../support/harness.mjs';

const fingerprintOf = (text) => createHash('sha1').update(`${text}\n`).digest('hex').slice(0, 12);

function defineHelpers(cluster) {
  return {
    addLookup: (body, options = {}) => cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body, ...options }),
    getLookups: (query, options = {}) => cluster.request('GET', '/api/get-lookups', { as: 'Frontend_1', query, ...options }),
    nextLookup: (query = {}, options = {}) =>
      cluster.request('GET', '/api/get-new-lookup', { as: 'Inference_1', query, ...options }),
    giveMatches: (body, options = {}) =>
      cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body, ...options }),
    // A topic with one answered query.
    async answered() {
      const { Topic } = await cluster.add({ Query: 'Why?' });
      await cluster.claim();
      await cluster.answer({ Topic, Seq: 1, Query: 'Why?' });
      return Topic;
    },
    // Gives empty matches to all lookups that wait.
    async drainLookups() {
      for (;;) {
        const response = await this.nextLookup();
        if (response.status === 404) return;
        const { Fingerprint } = assertOk(response);
        assertOk(await this.giveMatches({ Fingerprint, Matches: [] }));
      }
    },
  };
}

suite('lookups', { args: SLOW_RESCUE }, ({ test, cluster }) => {
  const ask = defineHelpers(cluster);

  test('a lookup goes out, its matches come in, the frontend reads them', async () => {
    await ask.drainLookups();
    const Topic = await ask.answered();
    const Fragment = `Employees can accrue ${newNonce()}`;
    const added = assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment, Count: 3, Threshold: 0.75 }));
    assertMembers(added, ['Fingerprint', 'Timestamp']);
    assert.equal(added.Fingerprint, fingerprintOf(Fragment));
    assertZonelessTimestamp(added.Timestamp);

    assert.deepEqual(assertOk(await ask.nextLookup()), { Fragment, Fingerprint: added.Fingerprint, Count: 3, Threshold: 0.75 });

    const Matches = ['Distance: 0.75\nDocument Name: a.pdf\n.....\nFirst passage.', 'Second, "quoted", with ünïcode.'];
    assert.deepEqual(assertOk(await ask.giveMatches({ Fingerprint: added.Fingerprint, Matches })), { status: 'OK' });

    for (const node of [0, 1]) {
      assert.deepEqual(assertOk(await ask.getLookups({ Topic }, { node })), {
        Topic,
        Lookups: [{ Query: 'Why?', Fragments: [{ [Fragment]: Matches }] }],
      });
    }
    assertProblem(await ask.nextLookup(), 404, 'not_found');
  });

  test('Count is 5 and Threshold 1.0 unless said', async () => {
    await ask.drainLookups();
    const Topic = await ask.answered();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment: newNonce() }));
    const { Count, Threshold } = assertOk(await ask.nextLookup());
    assert.deepEqual([Count, Threshold], [5, 1]);
  });

  test('Count goes from 1 to 100 and Threshold from 0 to 2', async () => {
    const Topic = await ask.answered();
    const add = (more) => ask.addLookup({ Topic, Seq: 1, Fragment: newNonce(), ...more });
    for (const Count of [1, 100]) assertOk(await add({ Count }));
    for (const Count of [0, 101, -1, 1.5, '5', true, [], {}]) assertProblem(await add({ Count }), 400);
    for (const Threshold of [0, 2, 0.5, 1]) assertOk(await add({ Threshold }));
    for (const Threshold of [-0.1, 2.1, '1', true, [], {}]) assertProblem(await add({ Threshold }), 400);
  });

  test('a member that is missing or of a wrong type: 400', async () => {
    const Topic = await ask.answered();
    for (const Fragment of [undefined, null, '', 7, [], {}]) assertProblem(await ask.addLookup({ Topic, Seq: 1, Fragment }), 400);
    for (const Seq of [undefined, null, 'one', 1.5, [], {}])
      assertProblem(await ask.addLookup({ Topic, Seq, Fragment: 'f' }), 400);
    for (const bad of [undefined, null, '', 7]) assertProblem(await ask.addLookup({ Topic: bad, Seq: 1, Fragment: 'f' }), 400);
  });

  test('an unknown topic or Seq: 404', async () => {
    const Topic = await ask.answered();
    assertProblem(await ask.addLookup({ Topic: newTopic(), Seq: 1, Fragment: 'f' }), 404, 'not_found');
    assertProblem(await ask.addLookup({ Topic, Seq: 2, Fragment: 'f' }), 404, 'not_found');
    assertProblem(await ask.getLookups({ Topic: newTopic() }), 404, 'not_found');
    assertProblem(await ask.getLookups({}), 400);
  });

  test('get-lookups has one entry per query of the topic, by ascending Seq, and empty lists until matches come', async () => {
    await ask.drainLookups();
    const Topic = newTopic();
    for (const Query of ['one', 'two', 'three']) await cluster.add({ Topic, Query });
    const fragment = newNonce();
    assertOk(await ask.addLookup({ Topic, Seq: 2, Fragment: fragment }));
    const { Lookups } = assertOk(await ask.getLookups({ Topic }));
    assert.deepEqual(
      Lookups.map(({ Query }) => Query),
      ['one', 'two', 'three'],
    );
    for (const lookup of Lookups) {
      assertMembers(lookup, ['Query', 'Fragments']);
      for (const one of lookup.Fragments) assert.deepEqual(Object.values(one), [[]]);
    }
    assert.deepEqual(Lookups[0].Fragments, []);
    assert.deepEqual(Lookups[2].Fragments, []);
  });

  test('Detail adds Seq and the fingerprints that are Pending', async () => {
    await ask.drainLookups();
    const Topic = await ask.answered();
    const [first, second] = [newNonce(), newNonce()];
    for (const Fragment of [first, second]) assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }));
    const [before] = assertOk(await ask.getLookups({ Topic, Detail: 'true' })).Lookups;
    assertMembers(before, ['Query', 'Fragments', 'Seq', 'Pending']);
    assert.equal(before.Seq, 1);
    assert.deepEqual([...before.Pending].sort(), [first, second].map(fingerprintOf).sort());
    assertOk(await ask.giveMatches({ Fingerprint: fingerprintOf(first), Matches: ['m'] }));
    const [after] = assertOk(await ask.getLookups({ Topic, Detail: 'true' })).Lookups;
    assert.deepEqual(after.Pending, [fingerprintOf(second)]);
    assert.ok(after.Fragments.some((one) => first in one && one[first][0] === 'm'));
  });

  test('the fingerprint without the newline is resolved too', async () => {
    await ask.drainLookups();
    const Topic = await ask.answered();
    const Fragment = newNonce();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }));
    const bare = createHash('sha1').update(Fragment).digest('hex').slice(0, 12);
    assert.deepEqual(assertOk(await ask.giveMatches({ Fingerprint: bare, Matches: ['m'] })), { status: 'OK' });
    assert.deepEqual(assertOk(await ask.getLookups({ Topic })).Lookups[0].Fragments, [{ [Fragment]: ['m'] }]);
  });

  test('the same fragment in two topics is looked up once and answered in both', async () => {
    await ask.drainLookups();
    const topics = [await ask.answered(), await ask.answered()];
    const Fragment = newNonce();
    for (const Topic of topics) assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }));
    const { Fingerprint } = assertOk(await ask.nextLookup());
    assertOk(await ask.giveMatches({ Fingerprint, Matches: ['m'] }));
    for (const Topic of topics) {
      assert.deepEqual(assertOk(await ask.getLookups({ Topic })).Lookups[0].Fragments, [{ [Fragment]: ['m'] }]);
    }
    assertProblem(await ask.nextLookup(), 404);
  });

  test('no match at all is an answer too', async () => {
    await ask.drainLookups();
    const Topic = await ask.answered();
    const Fragment = newNonce();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }));
    assertOk(await ask.giveMatches({ Fingerprint: fingerprintOf(Fragment), Matches: [] }));
    assert.deepEqual(assertOk(await ask.getLookups({ Topic, Detail: 'true' })).Lookups[0].Pending, []);
    assertProblem(await ask.nextLookup(), 404);
  });

  test('matches for an unknown fingerprint: 404, malformed ones: 400', async () => {
    assertProblem(await ask.giveMatches({ Fingerprint: '0123456789ab', Matches: ['m'] }), 404, 'not_found');
    const Topic = await ask.answered();
    const Fragment = newNonce();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }));
    for (const Matches of [undefined, null, 'm', 7, {}, [7], [null], ['m', ['n']]]) {
      assertProblem(await ask.giveMatches({ Fingerprint: fingerprintOf(Fragment), Matches }), 400);
    }
    for (const Fingerprint of [undefined, null, 7, '', []])
      assertProblem(await ask.giveMatches({ Fingerprint, Matches: [] }), 400);
    await ask.drainLookups();
  });

  test('matches of more than 1 MiB as they are stored: 413, and the lookup stays open', async () => {
    const Topic = await ask.answered();
    const Fragment = newNonce();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }));
    const Fingerprint = fingerprintOf(Fragment);
    // "\b" is two bytes of a body, and six of what is stored.
    assertProblem(await ask.giveMatches({ Fingerprint, Matches: ['\b'.repeat(200_000)] }), 413, 'too_large');
    assert.deepEqual(assertOk(await ask.getLookups({ Topic, Detail: 'true' })).Lookups[0].Pending, [Fingerprint]);
    const Matches = ['\b'.repeat(170_000)];
    assertOk(await ask.giveMatches({ Fingerprint, Matches }));
    assert.deepEqual(assertOk(await ask.getLookups({ Topic })).Lookups[0].Fragments, [{ [Fragment]: Matches }]);
  });

  test('a lookup that one engine took is not given to another', async () => {
    await ask.drainLookups();
    const Topic = await ask.answered();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment: newNonce() }));
    const both = await Promise.all([ask.nextLookup({}, { node: 0 }), ask.nextLookup({}, { node: 1, as: 'Inference_2' })]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 404]);
    await ask.drainLookups();
  });

  test('get-new-lookup with Wait is held until there is one', async () => {
    await ask.drainLookups();
    const Topic = await ask.answered();
    const parked = ask.nextLookup({ Wait: 20 }, { node: 0, timeout: 30_000 });
    const early = await Promise.race([parked, new Promise((resolve) => setTimeout(resolve, 400, 'held'))]);
    assert.equal(early, 'held');
    const Fragment = newNonce();
    const began = Date.now();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }, { node: 1 }));
    assert.equal(assertOk(await parked).Fragment, Fragment);
    assert.ok(Date.now() - began < 10_000, 'it was woken');
    assertOk(await ask.giveMatches({ Fingerprint: fingerprintOf(Fragment), Matches: [] }));
  });

  test('get-new-lookup with Wait ends with 404 when none comes, and Wait has limits', async () => {
    await ask.drainLookups();
    const began = Date.now();
    assertProblem(await ask.nextLookup({ Wait: 1 }), 404, 'not_found');
    assert.ok(Date.now() - began >= 900);
    for (const Wait of ['-1', '121', 'x']) assertProblem(await ask.nextLookup({ Wait }), 400);
  });

  test('a user looks up in its own topics', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment: newNonce() }, { as: 'User_1' }));
    assertOk(await ask.getLookups({ Topic }, { as: 'User_1' }));
    assertProblem(await ask.getLookups({ Topic }, { as: 'User_2' }), 404);
  });
});

suite('lookup leases', { args: ['--lease-seconds', '1', '--rescan-seconds', '1'] }, ({ test, cluster }) => {
  const ask = defineHelpers(cluster);

  test('a lookup whose engine died is given to another engine', async () => {
    const Topic = await ask.answered();
    const Fragment = newNonce();
    assertOk(await ask.addLookup({ Topic, Seq: 1, Fragment }));
    assert.equal(assertOk(await ask.nextLookup()).Fragment, Fragment);
    const again = await eventually(
      async () => {
        const response = await ask.nextLookup({}, { as: 'Inference_2' });
        return response.status === 200 && response.json;
      },
      { what: 'the lease of the lookup reverts' },
    );
    assert.equal(again.Fragment, Fragment);
    assertOk(await ask.giveMatches({ Fingerprint: again.Fingerprint, Matches: ['m'] }, { as: 'Inference_2' }));
    assert.deepEqual(assertOk(await ask.getLookups({ Topic })).Lookups[0].Fragments, [{ [Fragment]: ['m'] }]);
  });
});
