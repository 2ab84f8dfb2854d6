// SPDX-License-Identifier: MIT
//
// All that is stored for a user: DELETE /api/users/{user}, its usage and its export.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';
import { forgetLimits, upload } from '../support/documents.mjs';
import { ACCOUNTS, assertMembers, assertOk, assertProblem, eventually, newNonce, newTopic, SLOW_RESCUE, suite } from '../support/harness.mjs';
import { openShard } from '../support/keyspace.mjs';
import { answer, began, stepped } from '../support/lua_workflow.mjs';
import { messages, newRoom, say } from '../support/rooms.mjs';
import { shardOf, topicOn } from '../support/shards.mjs';
import { unzip } from '../support/zip.mjs';

const NAMESPACES = { acme: { secret: 'acme-secret', role: 'frontend', namespace: 'acme' }, other: { secret: 'other-secret', role: 'frontend', namespace: 'other' } };
const KINDS = ['Topics', 'SharedTopics', 'Queries', 'Lookups', 'Recommendations', 'Documents', 'Jobs', 'Limits', 'Runs', 'Files', 'Batches', 'Messages', 'Bots', 'Evaluations'];
const NOTHING = Object.fromEntries(KINDS.map((kind) => [kind, 0]));

suite('users', { args: SLOW_RESCUE, accounts: { ...ACCOUNTS, ...NAMESPACES } }, ({ test, cluster }) => {
  const newUser = () => `user-${newNonce()}`;
  const pathOf = (user, what = '') => `/api/users/${encodeURIComponent(user)}${what}`;
  const removeRaw = (user, { as = 'Frontend_1', ...options } = {}) => cluster.request('DELETE', pathOf(user), { as, ...options });
  // Until it is done; what all requests deleted together.
  const remove = async (user, options) => {
    const sum = { ...NOTHING };
    for (;;) {
      const { Deleted, Done } = assertOk(await removeRaw(user, options), 202);
      assertMembers(Deleted, KINDS);
      for (const kind of KINDS) sum[kind] += Deleted[kind];
      if (Done) return sum;
    }
  };
  const exportRaw = (user, { as = 'Frontend_1', ...options } = {}) => cluster.request('GET', pathOf(user, '/export'), { as, ...options });
  const exported = async (user, options) => {
    const response = await exportRaw(user, options);
    assert.equal(response.status, 200, response.text.slice(0, 500));
    assert.equal(response.headers['content-type'], 'application/zip');
    const files = unzip(response.body);
    return { files, json: (name) => JSON.parse(files.get(name).toString()) };
  };
  const usage = async (user, { as = 'Frontend_1', ...options } = {}) => assertOk(await cluster.request('GET', pathOf(user, '/usage'), { as, ...options }));
  const find = (OnBehalfOf, Text, { as = 'Frontend_1', query = {}, ...options } = {}) =>
    cluster.request('GET', '/api/find-topics', { as, query: { OnBehalfOf, Text, ...query }, ...options });
  const found = async (...args) => assertOk(await find(...args)).Topics;
  const done = async (options) => {
    const added = await cluster.add(options);
    const claim = await cluster.claim();
    await cluster.answer({ Topic: claim.Topic, Seq: added.Seq, Query: options.Query, Answer: options.Answer ?? ['42'], Think: ['hm'] });
    return added;
  };
  const recommend = (Topic, OnBehalfOf, Comment) =>
    cluster.request('POST', '/api/recommend', { as: 'Frontend_1', body: { Topic, OnBehalfOf, Query: 'q', Fragment: 'f', Comment, Type: 'Promote Answer' } });
  const keysWith = async (text) => (await cluster.redis.cmd('KEYS', `*${text}*`)).filter((key) => !/:(nonces|left):/.test(key));

  test('everything stored for a user is deleted, and nothing of another user', async () => {
    const [User, other] = [newUser(), newUser()];
    const mine = await done({ User, Query: `of ${User}` });
    const open = await cluster.add({ User, Query: 'still open' });
    const kept = await cluster.add({ User: other, Query: `of ${other}` });
    const lookup = { Topic: mine.Topic, Seq: 1, Fragment: `fragment ${User}`, Count: 1, Threshold: 1 };
    assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: lookup }));
    assertOk(await recommend(mine.Topic, User, 'mine'));
    assertOk(await recommend(mine.Topic, other, `of ${other}`));
    const query = { OnBehalfOf: User };
    assertOk(await upload(cluster, { as: 'Frontend_1', query, name: 'a.txt', bytes: `secret of ${User}` }), 201);
    const before = await usage(User);
    assert.deepEqual([before.Topics.Count, before.Queries.Count, before.Queries.Open, before.Recommendations.Count, before.Documents.Count, before.Rates.Uploads[0].Used], [2, 2, 1, 1, 1, 1]);
    assert.deepEqual(await remove(User), { ...NOTHING, Topics: 2, SharedTopics: 0, Queries: 2, Lookups: 1, Recommendations: 1, Documents: 1, Jobs: 1, Limits: 1, Runs: 0 });
    for (const { Topic } of [mine, open]) assertProblem(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }), 404);
    assertProblem(await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query }), 404);
    assert.deepEqual(assertOk(await cluster.request('GET', '/api/docs', { as: 'Frontend_1', query })).documents, []);
    assert.deepEqual((await usage(User)).Queries, { Count: 0, Open: 0, OpenMax: 100 });
    assert.deepEqual(await keysWith(User), []);
    assert.equal((await usage(other)).Topics.Count, 1);
    const all = assertOk(await cluster.request('GET', '/api/get-recommendations', { as: 'Inference_1' })).Recommendations;
    assert.deepEqual(all.filter(({ Topic }) => Topic === mine.Topic).map(({ Comment }) => Comment), [`of ${other}`]);
    assert.deepEqual(await remove(User), NOTHING, 'the second time there is nothing');
    assert.equal((await cluster.claim()).Topic, kept.Topic, 'its open question is in no queue any more');
  });

  test('in a topic of several users only what the user asked is blanked', async () => {
    const [User, other, Topic] = [newUser(), newUser(), newTopic()];
    await done({ User, Topic, Query: `first, of ${User}` });
    await done({ User: other, Topic, Query: `second, of ${other}`, Answer: ['stays'] });
    assert.deepEqual(await remove(User), { ...NOTHING, SharedTopics: 1, Queries: 1 });
    const thread = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }));
    assert.deepEqual(thread.map(({ Query, Answer, Status }) => [Query, Answer, Status]), [['', null, 'Cancelled'], [`second, of ${other}`, ['stays'], undefined]]);
    assert.deepEqual(Object.keys(assertOk(await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: other } }))), [Topic]);
    const everything = JSON.stringify(await cluster.redis.cmd('HGETALL', (await cluster.redis.cmd('KEYS', `*:t:${Topic}`))[0]));
    assert.ok(!everything.includes(User), 'its name is nowhere in it');
  });

  test('a user deletes only itself', async () => {
    await cluster.add({ as: 'User_1' });
    await cluster.add({ as: 'User_2' });
    assertProblem(await removeRaw('User_2', { as: 'User_1' }), 403, 'forbidden');
    assertProblem(await removeRaw('alice', { as: 'User_1' }), 403, 'forbidden');
    assertProblem(await removeRaw('User_1', { as: 'User_1', query: { OnBehalfOf: 'User_2' } }), 403, 'forbidden');
    assert.equal((await remove('User_1', { as: 'User_1' })).Topics, 1);
    assert.equal((await remove('User_2', { as: 'User_2', query: { OnBehalfOf: 'User_2' } })).Topics, 1);
  });

  test('engines and unauthenticated clients may not', async () => {
    for (const [method, what] of [['DELETE', ''], ['GET', '/usage'], ['GET', '/export']]) {
      assertProblem(await cluster.request(method, pathOf('alice', what), { as: 'Inference_1' }), 403, 'forbidden');
      assertProblem(await cluster.request(method, pathOf('alice', what), { localAddress: '127.9.0.1' }), 401, 'unauthorized');
    }
  });

  test('two users that want each other’s data get 403, whatever route they try', async () => {
    for (const [as, user] of [['User_1', 'User_2'], ['User_2', 'User_1']])
      for (const [method, what] of [['DELETE', ''], ['GET', '/usage'], ['GET', '/export']])
        assertProblem(await cluster.request(method, pathOf(user, what), { as }), 403, 'forbidden');
    assertProblem(await find('User_2', 'x', { as: 'User_1' }), 403, 'forbidden');
  });

  test('a frontend reaches the users of its own namespace only, however it writes their names', async () => {
    const User = newUser();
    const add = (as, Query) => cluster.add({ as, User, Query });
    await add('acme', 'of acme');
    await add('other', 'of other');
    await add('Frontend_1', 'of none');
    for (const name of [`acme~${User}`, `acme%7E${User}`, `other~${User}`]) {
      assert.equal((await usage(name, { as: 'Frontend_1' })).Topics.Count, 0, name);
      assert.equal((await usage(name, { as: 'other' })).Topics.Count, 0, name);
      assert.deepEqual(await remove(name, { as: 'other' }), NOTHING, name);
      assert.deepEqual((await exported(name, { as: 'other' })).json('topics.json'), []);
    }
    assert.equal((await usage(User, { as: 'acme' })).Topics.Count, 1);
    assert.deepEqual((await found(User, 'of', { as: 'acme' })).map(({ Query }) => Query), ['of acme']);
    assert.equal((await usage(`acme~${User}`, { as: 'Operator_1' })).Topics.Count, 1);
    assert.deepEqual((await exported(`acme~${User}`, { as: 'Operator_1' })).json('topics.json').map(({ Queries }) => Queries[0].Query), ['of acme']);
    assert.equal((await remove(`acme~${User}`, { as: 'Operator_1' })).Topics, 1);
    assert.equal((await usage(User, { as: 'other' })).Topics.Count, 1);
    assert.equal((await remove(User, { as: 'other' })).Topics, 1);
    assert.equal((await remove(User, { as: 'Operator_1' })).Topics, 1);
  });

  test('the largest names there are, of letters that take most room, and names that look like paths', async () => {
    for (const User of ['ü'.repeat(64), '%'.repeat(128), `a/b ${newNonce()}`, '..', `*${newNonce()}`]) {
      const Topic = `${'/'.repeat(100)}${newNonce()}`;
      await cluster.add({ User, Topic, Query: 'long' });
      assert.equal((await usage(User)).Topics.Count, 1, User);
      assert.equal((await exported(User)).json('topics.json')[0].Topic, Topic);
      assert.deepEqual((await found(User, 'LONG')).map((one) => one.Topic), [Topic]);
      assert.equal((await remove(User)).Topics, 1, User);
    }
    assertProblem(await removeRaw('x'.repeat(129)), 400);
    for (const name of ['x'.repeat(194), '%'.repeat(193)]) assertProblem(await removeRaw(name, { as: 'Operator_1' }), 400);
  });

  test('an engine that answers a deleted question gets 404, its claim is over', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User, Query: 'gone soon' });
    const claim = await cluster.claim({ detail: true });
    assert.equal(claim.Topic, Topic);
    const waiting = cluster.checkOpen({ Topic, wait: 60 });
    await waiting.sent;
    assert.equal((await remove(User)).Queries, 1);
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Query: 'gone soon', Lease: claim.Lease }), 404);
    assertProblem(await waiting.response, 404);
    assertProblem(await cluster.request('POST', '/api/extend-claim', { as: 'Inference_1', body: { Topic, Lease: claim.Lease } }), 409, 'lease_lost');
    assert.deepEqual(await keysWith(Topic), []);
  });

  test('the same deletion many times at once, on several nodes: each thing is counted once', async () => {
    const User = newUser();
    for (let i = 0; i < 20; i++) await cluster.add({ as: 'Frontend_1', User, Query: `q${i}` });
    const sums = await Promise.all(Array.from({ length: 8 }, () => remove(User)));
    assert.equal(sums.reduce((sum, { Topics }) => sum + Topics, 0), 20);
    assert.deepEqual(await keysWith(User), []);
  });

  test('an export holds all that the user has, and only that', async () => {
    const [User, other] = [newUser(), newUser()];
    const mine = await done({ User, Query: 'Zoë asks "why?"\n', Modifiers: { Tone: 'short' }, Answer: ['because', 'of 42'] });
    await done({ User: other, Topic: mine.Topic, Query: `of ${other}`, Answer: ['not yours'] });
    await cluster.add({ User, Query: 'open' });
    assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic: mine.Topic, Seq: 1, Fragment: 'mine', Count: 1, Threshold: 1 } }));
    assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic: mine.Topic, Seq: 2, Fragment: 'theirs', Count: 1, Threshold: 1 } }));
    assertOk(await recommend(mine.Topic, User, 'good'));
    assertOk(await recommend(mine.Topic, other, 'theirs'));
    const query = { OnBehalfOf: User };
    const bytes = `The lighthouse of ${User}.\n`.repeat(2000);
    const { documentId } = assertOk(await upload(cluster, { as: 'Frontend_1', query, name: 'Zoë’s notes.txt', bytes }), 201);
    await eventually(async () => assertOk(await cluster.request('GET', `/api/docs/${documentId}`, { as: 'Frontend_1', query })).status === 'INDEXED', { ms: 60_000, what: 'the document is read' });
    const { files, json } = await exported(User);
    assert.equal(json('user.json').User, User);
    const topics = json('topics.json');
    assert.equal(topics.length, 2);
    const first = topics.find(({ Topic }) => Topic === mine.Topic);
    assertMembers(first, ['Topic', 'Name', 'Queries', 'Lookups']);
    assert.deepEqual(first.Queries.map(({ Seq, Query, Answer, Think, Status, Modifiers }) => ({ Seq, Query, Answer, Think, Status, Modifiers })), [
      { Seq: 1, Query: 'Zoë asks "why?"\n', Answer: ['because', 'of 42'], Think: ['hm'], Status: 'Done', Modifiers: { Tone: 'short' } },
    ]);
    assert.deepEqual(first.Lookups.map(({ Seq, Fragment, Matches }) => [Seq, Fragment, Matches]), [[1, 'mine', null]]);
    assert.deepEqual(json('recommendations.json').map(({ Comment }) => Comment), ['good']);
    const [document] = json('documents.json');
    assert.deepEqual([document.id, document.filename, document.status], [documentId, 'Zoë’s notes.txt', 'INDEXED']);
    assert.deepEqual([...files.keys()].slice(8), [`documents/${documentId}/Zoë’s notes.txt.txt`, 'batches.json', 'files.json']);
    assert.equal(files.get(`documents/${documentId}/Zoë’s notes.txt.txt`).toString().trim(), bytes.trim());
    for (const held of files.values()) assert.ok(!held.includes(other) && !held.includes('not yours') && !held.includes('theirs'));
  });

  test('an export has the lookups of each topic with their matches, on whatever shards, in however many pages', async () => {
    const [User, other] = [newUser(), newUser()];
    const large = 'm'.repeat(400_000);
    const matches = new Map(); // fragment: its matches
    const fragmentOf = (Fragment, Matches) => {
      matches.set(Fragment, Matches);
      return Fragment;
    };
    const lookUp = async (Topic, Seq, Fragment) => {
      assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq, Fragment, Count: 3, Threshold: 1 } }));
      return [Seq, Fragment, matches.get(Fragment) ?? null];
    };
    const shared = fragmentOf(`shared ${User}`, ['both have it']);
    const expected = new Map(); // topic: [Seq, fragment, matches] of each lookup
    for (let i = 0; i < 5; i++) {
      const { Topic } = await done({ User, Topic: topicOn(i), Query: `first of ${i}` });
      await done({ User: other, Topic, Query: `of ${other}` });
      await done({ User, Topic, Query: `third of ${i}` });
      const theirs = fragmentOf(`theirs ${i} ${other}`, ['not yours']);
      const own = [await lookUp(Topic, 1, fragmentOf(`a ${i} ${User}`, [`"m" ${i}`, 'ü'])), await lookUp(Topic, 3, `none yet ${i} ${User}`)];
      own.push(await lookUp(Topic, 3, shared));
      await lookUp(Topic, 2, theirs);
      // Of one topic more than a page holds.
      for (let k = 0; i === 1 && k < 6; k++) own.push(await lookUp(Topic, 1 + 2 * (k % 2), fragmentOf(`large ${k} ${User}`, [`${k}${large}`])));
      expected.set(Topic, own);
    }
    for (const given = new Set(); given.size < matches.size; ) {
      const lookup = await eventually(
        async () => {
          const response = await cluster.request('GET', '/api/get-new-lookup', { as: 'Inference_1' });
          return response.status === 200 && response.json;
        },
        { ms: 60_000, what: 'a lookup to do' },
      );
      const Matches = matches.get(lookup.Fragment);
      if (Matches === undefined) continue;
      assertOk(await cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body: { Fingerprint: lookup.Fingerprint, Matches } }));
      given.add(lookup.Fragment);
    }
    for (const node of [0, 1]) {
      const { files, json } = await exported(User, { node });
      const topics = json('topics.json');
      assert.deepEqual(topics.map(({ Topic }) => Topic).sort(), [...expected.keys()].sort());
      for (const { Topic, Lookups } of topics) {
        const inOrder = (rows) => rows.sort((a, b) => (a[1] < b[1] ? -1 : 1));
        assert.deepEqual(inOrder(Lookups.map(({ Seq, Fragment, Matches }) => [Seq, Fragment, Matches])), inOrder(expected.get(Topic)));
      }
      for (const held of files.values()) assert.ok(!held.includes('theirs') && !held.includes('not yours'));
    }
    for (const user of [User, other]) await remove(user);
  });

  test('an export of a user of whom nothing is stored is a zip with empty lists', async () => {
    const { files, json } = await exported(newUser());
    assert.deepEqual([...files.keys()], ['user.json', 'topics.json', 'recommendations.json', 'runs.json', 'messages.json', 'bots.json', 'evaluations.json', 'documents.json', 'batches.json', 'files.json']);
    for (const name of ['topics', 'recommendations', 'runs', 'messages', 'bots', 'evaluations', 'documents']) assert.deepEqual(json(`${name}.json`), []);
  });

  test('runs of workflows are counted, exported and deleted with the user, and those of another user stay', async () => {
    const [User, other] = [newUser(), newUser()];
    const shard = await openShard(cluster.redis);
    const session = (user) => createHash('md5').update(user).digest('hex');
    for (const user of [User, other]) {
      for (let i = 0; i < 12; i++) {
        const run = await began(shard, { session: session(user), account: 'Frontend_1', user, request: `r${i}`, sessionId: 'a%20b' });
        for (let k = 0; k < 3; k++) assert.match(await stepped(shard, run, { record: `{"agent":"of ${user}","reason":"${'why '.repeat(3000)}"}` }), /^ok/);
        if (i === 0) assert.match(await stepped(shard, run, { status: 'waiting', approvers: ['a.Frontend_1'] }), /^ok/);
        if (i === 0) await shard.turn([answer({ session: run.session, run: run.run, step: 4, account: 'Frontend_1', comment: `"said by ${user}"` })]);
      }
    }
    assert.equal((await usage(User)).Runs.Count, 12);
    const { json } = await exported(User);
    const runs = json('runs.json');
    assert.deepEqual(runs.map(({ request_id }) => request_id).sort(), Array.from({ length: 12 }, (_, i) => `r${i}`).sort());
    for (const run of runs) {
      assertMembers(run, ['run', 'request_id', 'session_id', 'account', 'verb', 'version', 'final_status', 'timestamp', 'changed', 'steps', 'answers']);
      assert.deepEqual([run.session_id, run.account, run.steps.length >= 3, run.steps[0].agent], ['a b', 'Frontend_1', true, `of ${User}`]);
    }
    assert.deepEqual(runs.flatMap(({ answers }) => answers).map(({ comment }) => comment), [`said by ${User}`]);
    assert.ok(!JSON.stringify(runs).includes(other));
    assert.equal((await remove(User)).Runs, 12);
    assert.equal((await usage(User)).Runs.Count, 0);
    assert.deepEqual(await keysWith(User), []);
    assert.deepEqual(await keysWith(session(User)), []);
    assert.equal((await usage(other)).Runs.Count, 12);
    assert.equal((await remove(other)).Runs, 12);
  });

  // An id on the first shard, where the scripts below run.
  const evaluationOf = (user) => {
    for (let i = 0; ; i++) {
      const id = createHash('md5').update(`${user} ${i}`).digest('hex').slice(0, 24);
      if (shardOf(id) === 0) return id;
    }
  };

  test('messages in rooms, bots and evaluations are counted, exported and deleted with the user, and those of another user stay', async () => {
    const [User, other] = [newUser(), newUser()];
    const shard = await openShard(cluster.redis);
    const rooms = [];
    for (let i = 0; i < 6; i++) rooms.push(await newRoom(cluster, { as: 'Frontend_1', user: i % 2 ? User : other, name: `Room ${i}` }));
    for (const user of [User, other]) {
      for (const room of rooms) await say(cluster, room, `${user} speaks`, { as: 'Frontend_1', user });
      const username = `bot-${newNonce().slice(0, 12).toLowerCase().replace(/[^a-z0-9]/g, 'x')}`;
      assertOk(await cluster.request('POST', '/api/bots', { as: 'Frontend_1', query: { OnBehalfOf: user }, body: { username, emulates: `Ada of ${user}` } }), 201);
      const id = evaluationOf(user);
      const begun = await shard.call('evaluation_begin', 0, id, '%', 'Frontend_1', user, username, JSON.stringify(username), 'cosine', 2, '[]', '', '');
      const fence = /^begun\n1\n(\d+)$/.exec(begun)[1];
      for (const at of [0, 1]) assert.match(await shard.call('evaluation_turn', id, 1, fence, at, `{"turn":${at + 1},"text":"of ${user}"}`, 'running', '{}'), /^ok/);
    }
    const counted = async (user) => (({ Rooms, Bots, Evaluations }) => [Rooms, Bots.Count, Evaluations.Count])(await usage(user));
    assert.deepEqual(await counted(User), [{ Count: 6, Messages: 6 }, 1, 1]);
    const { json } = await exported(User);
    const said = json('messages.json');
    assert.deepEqual(said.map(({ room }) => room).sort(), [...rooms].sort());
    for (const message of said) {
      assertMembers(message, ['room', 'name', 'id', 'text', 'tagged', 'reply_to', 'timestamp']);
      assert.deepEqual([message.text, message.name], [`${User} speaks`, `Room ${rooms.indexOf(message.room)}`]);
    }
    const [bot, ...more] = json('bots.json');
    assert.deepEqual([bot.emulates, bot.endpoint, bot.format, bot.account, more], [`Ada of ${User}`, null, 'annex', 'Frontend_1', []]);
    const [evaluation] = json('evaluations.json');
    assert.deepEqual([evaluation.bot, evaluation.measure, evaluation.turns.map(({ turn, text }) => [turn, text])], [bot.username, 'cosine', [[1, `of ${User}`], [2, `of ${User}`]]]);
    assert.deepEqual(await remove(User), { ...NOTHING, Messages: 6, Bots: 1, Evaluations: 1 });
    assert.deepEqual(await counted(User), [{ Count: 0, Messages: 0 }, 0, 0]);
    assert.deepEqual(await keysWith(User), []);
    for (const room of rooms) assert.deepEqual((await messages(cluster, room, { as: 'Frontend_1', user: other })).map(({ from }) => from), [other]);
    assert.deepEqual(await counted(other), [{ Count: 6, Messages: 6 }, 1, 1]);
    assert.deepEqual(await remove(other), { ...NOTHING, Messages: 6, Bots: 1, Evaluations: 1 });
  });

  test('a name of a file leads out of no folder', async () => {
    const User = newUser();
    const query = { OnBehalfOf: User };
    for (const [i, name] of ['../../etc/passwd.txt', '/root.txt', '..txt.txt', 'c:\\\\x.txt', `${'ü'.repeat(300)}.txt`].entries()) {
      await forgetLimits(cluster);
      const response = await upload(cluster, { as: 'Frontend_1', query, name, bytes: `file ${i} of ${User}` });
      assert.ok([201, 400].includes(response.status), response.text);
    }
    const { files } = await exported(User);
    for (const path of files.keys()) assert.match(path, /^(documents\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[^./\\][^/\\]*|[a-z]+\.json)$/);
    await remove(User);
  });

  test('the export of one user once at a time on a node', async () => {
    const User = newUser();
    const row = 'x'.repeat(200_000);
    for (let i = 0; i < 40; i++) await cluster.add({ as: 'Frontend_1', User, Query: `${i}${newNonce()}${row}`, Topic: `${User}-${i}` });
    const socket = await cluster.socket({ node: 0 });
    socket.write(`GET ${cluster.path(pathOf(User, '/export'), { as: 'Frontend_1' })} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await socket.begun();
    socket.pause();
    assertProblem(await exportRaw(User, { node: 0 }), 429, 'rate_limited');
    assert.equal((await exported(User, { node: 1 })).json('topics.json').length, 40);
    socket.abort();
    await eventually(async () => (await exportRaw(User, { node: 0 })).status === 200, { what: 'a client that leaves ends its export' });
  });

  test('32 exports of one account at once on a node are answered, though fewer pages are in memory; one more gets 429', async () => {
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1' }));
    const headers = { Authorization: `Bearer ${Token}` };
    await cluster.redis.cmd('CLIENT', 'PAUSE', 60_000, 'WRITE');
    const all = Array.from({ length: 33 }, () => cluster.request('GET', pathOf(newUser(), '/export'), { headers, node: 0 }));
    const first = await Promise.race(all);
    await cluster.redis.cmd('CLIENT', 'UNPAUSE');
    assertProblem(first, 429, 'rate_limited');
    assert.deepEqual((await Promise.all(all)).map(({ status }) => status).sort(), [...Array(32).fill(200), 429]);
  });

  test('as many clients as pages are in memory, that do not read theirs, keep no other account waiting for good', async () => {
    const large = Array.from({ length: 40_000 }, () => newNonce()).join('').slice(0, 900_000); // which no compression makes small
    const users = Array.from({ length: 8 }, newUser);
    for (const User of users) await done({ User, Query: 'q', Answer: [large] });
    const session = http2.connect(cluster.nodes[0].url, { settings: { initialWindowSize: 1000 } });
    const unread = async () => Number(/^parley_unread_bytes (\d+)$/m.exec((await cluster.request('GET', '/metrics', { node: 0 })).text)[1]);
    const open = async (User) => {
      const stream = session.request({ ':path': cluster.path(pathOf(User, '/export'), { as: 'Frontend_1' }) }).on('error', () => {});
      const [headers] = await once(stream, 'response');
      assert.equal(headers[':status'], 200);
    };
    await open(users[0]);
    await eventually(async () => (await unread()) > 0, { what: 'a part of its page is sent and not read' });
    const part = await unread();
    await Promise.all(users.slice(1).map(open));
    await eventually(async () => (await unread()) > 7.5 * part, { what: 'the same of each page' });
    assert.deepEqual((await exported(newUser(), { as: 'Frontend_heavy', node: 0 })).json('topics.json'), []);
    assert.match(cluster.nodes[0].log(), /user export cut off.*reads too slowly/);
    session.destroy();
  });

  test('usage adds up the tokens that engines report, for a user and its account, on all shards', async () => {
    const [User, other] = [newUser(), newUser()];
    const mine = (whose, options) => usage(whose, options).then(({ Tokens }) => Tokens);
    const { AccountPrompt, AccountCompletion } = await mine(User);
    for (const [who, prompt_tokens, completion_tokens] of [[User, 100, 20], [User, 1, 2], [User, 30, 0], [other, 1000, 5]]) {
      const { Topic, Seq } = await cluster.add({ User: who, Query: 'Why?' });
      await cluster.claim();
      await cluster.answer({ Topic, Seq, Query: 'Why?', Usage: { prompt_tokens, completion_tokens } });
    }
    await done({ User, Query: 'without' });
    const account = { AccountPrompt: AccountPrompt + 1131, AccountCompletion: AccountCompletion + 27 };
    assert.deepEqual(await mine(User), { Prompt: 131, Completion: 22, ...account, Days: 30 });
    assert.deepEqual(await mine(other), { Prompt: 1000, Completion: 5, ...account, Days: 30 });
    assert.deepEqual(await mine(User, { as: 'Operator_1' }), { Prompt: 131, Completion: 22, AccountPrompt: null, AccountCompletion: null, Days: 30 });
    await remove(User);
    assert.deepEqual(await mine(User), { Prompt: 0, Completion: 0, ...account, Days: 30 });
    await remove(other);
  });

  test('usage counts over many topics', async () => {
    const User = newUser();
    const Topic = newTopic();
    for (let i = 0; i < 3; i++) await cluster.add({ User, Topic });
    const { Queries, Topics, Documents, Rates } = await usage(User);
    assert.deepEqual([Topics.Count, Queries], [1, { Count: 3, Open: 3, OpenMax: 100 }]);
    assertMembers(Documents, ['Count', 'CountMax', 'Bytes', 'BytesMax', 'Passages']);
    assert.deepEqual(Rates.Questions, [{ Used: 0, Max: 20, Seconds: 60 }]);
    assert.deepEqual((await usage(User, { as: 'Operator_1' })).Queries, { Count: 3, Open: null, OpenMax: null });
    await remove(User);
  });
});
