// SPDX-License-Identifier: MIT
//
// What stays in Redis once all that a cluster knows is deleted: everything is made by the verbs, then each user, bot,
// room, document and question of Parley's own goes. A key that a deletion forgets is left over here.
import assert from 'node:assert/strict';
import { fillBatches, fillDocuments, fillFiles, fillQueue, fillRest, fillRooms, fillRuns } from '../support/filled.mjs';
import { scripts } from '../support/lua.mjs';

// What stays for a while, and why, and what belongs to no user.
const STAYS = {
  account_tokens: 'sums of an account, 30 days',
  audit: 'who did what, 90 days',
  drained: 'accounts that operators have drained',
  engines: 'which engines were there, a day',
  evaluation_last: 'a number, so that the next run of the evaluation has another one, 30 days',
  failures: 'failed logins, 80 s',
  idem: 'digests of idempotency keys, 24 h',
  job: 'the last state of a job, an hour',
  jobs: 'the stream is there as long as its indexers are',
  limit: 'how often the user was deleted, an hour',
  meta: 'counters that only rise',
  nonce_counts: 'nonces of accounts, 48 h',
  nonces: 'digests of nonces, 48 h',
  poll: 'polls of engines that name themselves, 300 s',
  pushed: 'an upload whose blocks never came, 5 min',
  rate: 'requests of accounts, 10 s',
  recommendations: 'the empty stream keeps its last id, which engines read on from',
  spent: 'how many tokens an account used on a day, 2 days',
  stat: 'counts of a minute, 2 h',
  token_key: 'the key of the cluster',
  unrecommended: 'engines learn of deleted entries from it',
  wf_file: 'the text of a workflow file, 30 days',
  wf_files: 'the same',
};
// Of these fields none is left.
const COUNTS = ['stored', 'waiting', 'shares', 'depths', 'models', 'messages_of', 'names_n', 'room_names', 'room_looks', 'rooms_n', 'bots_n', 'dlv_n', 'dlv_of', 'wf_open', 'evaluations_open', 'batches_open', 'batches_n', 'lookup_alias'];

scripts('what deletions leave', ({ test, shard }) => {
  const found = async (pattern) => (await shard.names()).flatMap((name) => pattern.exec(name)?.[1] ?? []);
  // Calls the verb until it says that it is over.
  const all = async (isMore, verb) => {
    for (let reply = ''; reply === '' || isMore.test(reply); ) reply = await shard.call(...verb(reply.split('\n')));
  };
  const forget = async (user) => {
    await all(/^more/, ([, , after = '']) => ['room_forget_user', 0, user, after]);
    await all(/^more/, () => ['bot_forget_user', user]);
    await all(/^more/, () => ['evaluation_forget_user', user]);
    await all(/^ok\n1/, () => ['delete_user', 0, user, `o:${user}`]);
  };
  const fill = async () => {
    for (const part of [fillQueue, fillRest, fillDocuments, fillRuns, fillRooms, fillFiles, fillBatches]) await part(shard);
  };
  const forgetAll = async () => {
    const users = new Set(await found(/^(?:topics|rooms_of|wf_of|bots_of|evaluations_of|filers|batchers|docs:o|recommended:[^:]+):(.+)$/));
    assert.ok(users.size >= 6, [...users].join());
    for (const user of users) await forget(user);
    for (const topic of await found(/^t:(ask-.+)$/)) for (let i = 0; i < 2; i++) await shard.call('ask_leave', topic, 0);
    await shard.call('sweep_asks');
    for (const doc of Object.keys((await shard.get('docs:c:book')).value)) assert.equal(await shard.call('doc_delete', 0, 'c:book', doc), 'ok');
  };
  const assertNothing = async () => {
    const names = await shard.names();
    assert.deepEqual(names.filter((name) => !Object.hasOwn(STAYS, name.split(':')[0])), []);
    assert.deepEqual(names.filter((name) => COUNTS.includes(name)), []);
  };

  test('after all users, bots, documents and questions are deleted no key speaks of them', async () => {
    await fill();
    await forgetAll();
    await assertNothing();
    assert.deepEqual(await shard.cmd('XLEN', shard.key('recommendations')), 0);
    assert.deepEqual(await shard.cmd('XLEN', shard.key('jobs')), 0);
  });

  test('the same after all rooms were deleted first, while bots have yet to answer', async () => {
    await fill();
    for (const room of await found(/^room:(.+)$/)) {
      let reply;
      for (let hasBegun = ''; reply !== 'done'; hasBegun = '1') reply = await shard.call('room_delete', 0, room, '', 'Operator', 'op', '1', hasBegun);
    }
    assert.deepEqual(await found(/^((?:room|rooms|dlv|rooms_of|room_[mtwu]\w+|dlv_\w+|messages_of|names_known)(?::.*)?)$/), []);
    assert.deepEqual(Object.keys(await shard.get('room_names')).sort(), ['acme~coach', 'coach', 'puller'], 'names of users are free');
    await forgetAll();
    await assertNothing();
  });
});
