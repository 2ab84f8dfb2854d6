// SPDX-License-Identifier: MIT
//
// BossBot's document, route by route: its examples are sent, and what comes back has the members, names, statuses and
// forms that it shows. What Parley adds comes with Detail=true, and in forms of Parley's own: times in RFC 3339.
// At the end the letters that all routes share: the preflight, the words of 401 and 403, and /health.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { assertMembers, assertOk, assertProblem, assertTimestamp, assertZonelessTimestamp, eventually, newNonce, newTopic, sign, suite } from '../support/harness.mjs';

const QUESTION = 'What is the meaning of life?';
const COLOR = 'What is your favorite color?';
const FRAGMENT = 'Employees can accrue comp time for overtime hours worked ...';
const ANSWER = { Answer: ['First paragraph', 'Second paragraph'], Think: ['Thinking about foo', 'Thinking about bar'] };

suite("BossBot's document: user routes", {}, ({ test, cluster }) => {
  const asks = (Topic, ...queries) => queries.reduce((before, Query) => before.then(() => cluster.add({ Topic, Query, User: 'Calico_Seders' })), Promise.resolve());
  const topics = (OnBehalfOf) => cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf } });
  const remove = (method, query) => cluster.request(method, '/api/topic', { as: 'Frontend_1', query });
  const drop = async (...all) => {
    for (const Topic of all) assertOk(await remove('DEL', { OnBehalfOf: 'Calico_Seders', Topic }));
  };

  test('GET api/user-topics is an object of topics and their first queries, the newest last, and 404 without any', async () => {
    assertProblem(await topics('Calico_Seders'), 404);
    await asks('DGQIn+5troxI', 'What is the carrying weight on an unladen swallow?', 'And of a laden one?');
    await asks('ABC124-993SW', 'What is the meaning of life');
    const response = await topics('Calico_Seders');
    assert.equal(response.text, '{"DGQIn+5troxI":"What is the carrying weight on an unladen swallow?","ABC124-993SW":"What is the meaning of life"}');
    await drop('DGQIn+5troxI', 'ABC124-993SW');
  });

  test('DEL api/topic is 200 for a topic of that user', async () => {
    await asks('DGQIn+5troxI', QUESTION);
    assert.deepEqual(assertOk(await remove('DEL', { OnBehalfOf: 'Calico_Seders', Topic: 'DGQIn+5troxI' })), { status: 'OK' });
    assertProblem(await topics('Calico_Seders'), 404);
  });

  test("DEL api/topic is 403 for a topic that the user does not have, and the reason is the topic, not the account's role", async () => {
    await asks('DGQIn+5troxI', QUESTION);
    for (const query of [{ OnBehalfOf: 'John_Doe', Topic: 'DGQIn+5troxI' }, { OnBehalfOf: 'Calico_Seders', Topic: newTopic() }]) {
      for (const method of ['DEL', 'DELETE']) assert.equal(assertProblem(await remove(method, query), 403, 'forbidden').detail, `This user has no topic '${query.Topic}'.`);
      const renamed = await cluster.request('PUT', '/api/rename-topic', { as: 'Frontend_1', query: { ...query, Description: 'Mine' } });
      assert.equal(assertProblem(renamed, 403, 'forbidden').detail, `This user has no topic '${query.Topic}'.`);
    }
    const own = await cluster.request('DEL', '/api/topic', { as: 'User_1', query: { OnBehalfOf: 'User_2', Topic: 'DGQIn+5troxI' } });
    assert.doesNotMatch(assertProblem(own, 403, 'forbidden').detail, /role/);
    await drop('DGQIn+5troxI');
  });

  test('POST api/add-query answers {"Topic":"DGQIn+5troxI","Seq":4,"Timestamp":"2025-03-25T01:02:03"}', async () => {
    await asks('DGQIn+5troxI', 'One', 'Two', 'Three');
    const body = {
      Topic: 'DGQIn+5troxI',
      User: 'Calico_Seders',
      Query: 'How far can an African swallow fly?',
      Modifiers: { Region: '...', Category: [], TBD: 'Loosely defined schema for this object' },
      Model: 'default',
    };
    const added = assertOk(await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body }));
    assert.deepEqual(Object.keys(added), ['Topic', 'Seq', 'Timestamp']);
    assert.deepEqual([added.Topic, added.Seq], ['DGQIn+5troxI', 4]);
    assertZonelessTimestamp(added.Timestamp);
    await drop('DGQIn+5troxI');
  });

  test('GET api/check-query has Answer and Think null until there is an answer, and two arrays then', async () => {
    await asks('DGQIn+5troxI', 'What is the capital of Mali?');
    // The + as the document writes it, not as %2B.
    const check = () => cluster.request('GET', '/api/check-query', { as: 'Frontend_1', query: { Seq: 1, Wait: 0 }, raw: 'Topic=DGQIn+5troxI' });
    const open = { Query: 'What is the capital of Mali?', Topic: 'DGQIn+5troxI', Seq: 1, Answer: null, Think: null };
    assert.equal((await check()).text, JSON.stringify(open));
    await cluster.claim();
    assert.equal((await check()).text, JSON.stringify(open));
    await cluster.answer({ Topic: 'DGQIn+5troxI', Seq: 1, Query: open.Query, ...ANSWER });
    assert.equal((await check()).text, JSON.stringify({ ...open, ...ANSWER }));
    await drop('DGQIn+5troxI');
  });

  test('GET /api/get-topic-thread is an array in ascending Seq, at once, and 404 for a topic that is not there', async () => {
    const thread = (Topic) => cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } });
    assertProblem(await thread('DGQIn+5troxI'), 404);
    await asks('DGQIn+5troxI', COLOR, 'What is your mothers maiden name?');
    await cluster.claim();
    await cluster.answer({ Topic: 'DGQIn+5troxI', Seq: 1, Query: COLOR, ...ANSWER });
    const other = { Answer: ['Other stuff'], Think: ['Thinking about baz', 'Thinking about bam'] };
    await cluster.answer({ Topic: 'DGQIn+5troxI', Seq: 2, Query: 'What is your mothers maiden name?', ...other });
    assert.equal(
      (await thread('DGQIn+5troxI')).text,
      JSON.stringify([
        { Query: COLOR, Topic: 'DGQIn+5troxI', Seq: 1, ...ANSWER },
        { Query: 'What is your mothers maiden name?', Topic: 'DGQIn+5troxI', Seq: 2, ...other },
      ]),
    );
    await drop('DGQIn+5troxI');
  });

  test('POST api/add-lookup answers {"Fingerprint":"7b33f9588431","Timestamp":"2025-03-25T01:02:03"}, with Count and Threshold or without', async () => {
    await asks('DGQIn+5troxI', QUESTION);
    for (const more of [{ Count: 5, Threshold: 1.0 }, {}]) {
      const added = assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic: 'DGQIn+5troxI', Seq: 1, Fragment: FRAGMENT, ...more } }));
      assert.deepEqual(Object.keys(added), ['Fingerprint', 'Timestamp']);
      assert.equal(added.Fingerprint, '7b33f9588431');
      assertZonelessTimestamp(added.Timestamp);
    }
    await drop('DGQIn+5troxI');
  });

  test('GET api/get-lookups takes its Topic in a body, and lists each query with its fragments and their matches', async () => {
    await asks('DGQIn+5troxI', "What's the meaning of life?", '...');
    const Matches = ['Match 1 - whole bunch of info,\nwith line breaks embedded', 'Match 2 - yet more info', '...'];
    const add = (Fragment) => cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic: 'DGQIn+5troxI', Seq: 1, Fragment } });
    const prints = [assertOk(await add('Employees can accrue comp time...')).Fingerprint, assertOk(await add('Another lookup fragment')).Fingerprint];
    for (const [i, Fingerprint] of prints.entries()) {
      const body = { Fingerprint, Matches: i === 0 ? Matches : ['...'] };
      assert.deepEqual(assertOk(await cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body })), { status: 'OK' });
    }
    const found = await cluster.request('GET', '/api/get-lookups', { as: 'Frontend_1', body: { Topic: 'DGQIn+5troxI' } });
    assert.equal(
      found.text,
      JSON.stringify({
        Topic: 'DGQIn+5troxI',
        Lookups: [
          { Query: "What's the meaning of life?", Fragments: [{ 'Employees can accrue comp time...': Matches }, { 'Another lookup fragment': ['...'] }] },
          { Query: '...', Fragments: [] },
        ],
      }),
    );
    await drop('DGQIn+5troxI');
  });

  test('POST /api/recommend takes each of the six types, and answers {"Timestamp":"2025-03-25T01:02:03"}', async () => {
    await asks('DGQIn+5troxI', "What's the meaning of life?");
    for (const Type of ['Suggest Improvement', 'Promote Answer', 'Make Correction', 'Add Missing Info', 'Clarify Phrasing', 'Flag as Off Topic']) {
      const body = {
        Topic: 'DGQIn+5troxI',
        OnBehalfOf: 'Calico_Seders',
        Query: "What's the meaning of life?",
        Fragment: "It don't mean a thing if you ain't got that swing.",
        Comment: 'Duke Ellington frequently lent his wisdom to song lyrics.\nHe correctly noted that you need that swing to mean anything.',
        Type,
      };
      const kept = assertOk(await cluster.request('POST', '/api/recommend', { as: 'Frontend_1', body }));
      assert.deepEqual(Object.keys(kept), ['Timestamp']);
      assertZonelessTimestamp(kept.Timestamp);
    }
    await drop('DGQIn+5troxI');
  });

  test('GET /api/login is 200 for a hash by SHA-1 as for one by SHA-256, and 401 for a wrong secret', async () => {
    for (const algo of ['sha1', 'sha256']) {
      for (const newline of [false, true]) assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', signing: { algo, newline } }));
    }
    assertProblem(await cluster.request('GET', '/api/login', { as: 'User_1', signing: { secret: 'MLIyPLaQqCJ6tMqQ' } }), 401);
  });

  test('Detail adds times in RFC 3339, with their zone', async () => {
    await asks('DGQIn+5troxI', QUESTION, COLOR);
    const Detail = 'true';
    assertTimestamp((await cluster.check({ Topic: 'DGQIn+5troxI', detail: true })).Timestamp);
    for (const row of assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: 'DGQIn+5troxI', Detail } }))) assertTimestamp(row.Timestamp);
    const { Details } = await cluster.claim({ detail: true });
    for (const one of Object.values(Details)) assertTimestamp(one.Timestamp);
    await drop('DGQIn+5troxI');
  });
});

suite("BossBot's document: inference routes", {}, ({ test, cluster }) => {
  test('GET api/get-new-queries is {"Topic":null,"Queries":null} when nothing comes', async () => {
    assert.equal((await cluster.claimRaw()).text, '{"Topic":null,"Queries":null}');
  });

  test('GET api/get-new-queries takes User, Nonce and Hash in its body, and 401 is the answer to a hash that does not fit', async () => {
    const proof = sign('Inference_1', cluster.accounts.Inference_1.secret, { algo: 'sha1', newline: true });
    const take = (body) => cluster.request('GET', '/api/get-new-queries', { query: { Wait: 0 }, body });
    assert.equal((await take(proof)).text, '{"Topic":null,"Queries":null}');
    assertProblem(await take({ ...proof, Nonce: newNonce() }), 401);
  });

  test('GET api/get-new-queries gives all Open queries of one topic, each an object of its Seq and its text', async () => {
    await cluster.add({ Topic: 'DGQIn+5troxI', Query: 'What day is it?' });
    await cluster.claim();
    await cluster.answer({ Topic: 'DGQIn+5troxI', Seq: 1, Query: 'What day is it?' });
    for (const Query of [QUESTION, COLOR]) await cluster.add({ Topic: 'DGQIn+5troxI', Query });
    assert.equal((await cluster.claimRaw()).text, `{"Topic":"DGQIn+5troxI","Queries":[{"2":"${QUESTION}"},{"3":"${COLOR}"}]}`);
    assert.equal((await cluster.claim({ as: 'Inference_2' })).Topic, null, 'they are Pending');
  });

  test("POST api/give-new-answer takes the document's body, also under a Seq of the engine's own counting", async () => {
    const Topic = newTopic('DGQIn+5troxI');
    await cluster.add({ Topic, Query: QUESTION });
    await cluster.claim();
    const body = {
      Query: QUESTION,
      Topic,
      Seq: 2,
      Think: ['That’s a great question.', 'Many philosophers have asked that.', 'Duke Ellington seems relevant.'],
      Answer: ['It don’t mean a thing if you ain’t got that swing.'],
    };
    const answered = assertOk(await cluster.request('POST', '/api/give-new-answer', { as: 'Inference_1', body }));
    assert.deepEqual({ ...answered, Timestamp: 0 }, { Topic, Seq: 1, Status: 'Done', Timestamp: 0 });
    assertTimestamp(answered.Timestamp); // the document shows no answer: this one is Parley's own
    assert.deepEqual(await cluster.check({ Topic }), { ...body, Seq: 1 });
  });

  test('GET api/get-new-lookup is 404 without a lookup, and one lookup with the four members otherwise', async () => {
    const take = () => cluster.request('GET', '/api/get-new-lookup', { as: 'Inference_1' });
    assertProblem(await take(), 404);
    const { Topic } = await cluster.add();
    const { Fingerprint } = assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq: 1, Fragment: 'Employees can accrue comp time...' } }));
    assert.deepEqual(assertOk(await take()), { Fragment: 'Employees can accrue comp time...', Fingerprint, Count: 5, Threshold: 1 });
    // The document's own example is made without the newline; both are the same lookup.
    for (const print of ['4892a5d812af', Fingerprint]) {
      const body = { Fingerprint: print, Matches: ['Match 1 - whole bunch of info', '...'] };
      assert.deepEqual(assertOk(await cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body })), { status: 'OK' });
    }
    assertProblem(await cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body: { Fingerprint: '000000000000', Matches: [] } }), 404);
  });

  test("operators' routes write times in RFC 3339, with their zone", async () => {
    const { Topic } = await cluster.add();
    const { Queries } = assertOk(await cluster.request('GET', '/api/queue', { as: 'Operator_1', query: { State: 'Open' } }));
    assertTimestamp(Queries.find((one) => one.Topic === Topic).Timestamp);
  });
});

suite('what all routes share', { sweep: false }, ({ test, cluster }) => {
  test('a preflight allows GET, POST, PUT, DELETE, DEL and OPTIONS, and the headers that were asked for', async () => {
    for (const path of ['/api/topic', '/ask', '/api/docs/upload']) {
      const headers = { Origin: 'https://chat.example', 'Access-Control-Request-Method': 'DEL', 'Access-Control-Request-Headers': 'authorization, content-type' };
      const response = await cluster.request('OPTIONS', path, { headers });
      assert.equal(response.status, 204);
      assert.equal(response.headers['access-control-allow-origin'], 'https://chat.example');
      assert.equal(response.headers['access-control-allow-credentials'], undefined);
      assert.equal(response.headers['access-control-allow-methods'], 'GET, POST, PUT, DELETE, DEL, OPTIONS');
      assert.equal(response.headers['access-control-allow-headers'], 'authorization, content-type');
    }
  });

  test('an expired token has a 401 of its own: error="invalid_token", "The token has expired."', async () => {
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as: 'User_1' }));
    const [head, claims] = Token.split('.');
    const key = Buffer.from(await cluster.redis.cmd('GET', 'parley:{0}:token_key'), 'hex');
    const exp = Math.floor(Date.now() / 1000) - 61;
    const text = `${head}.${Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(claims, 'base64url')), iat: exp - 3600, nbf: exp - 3600, exp })).toString('base64url')}`;
    const Authorization = `Bearer ${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
    for (const path of ['/api/user-topics', '/api/me', '/api/docs']) {
      const response = await cluster.request('GET', path, { headers: { Authorization } });
      assert.equal(assertProblem(response, 401).detail, 'The token has expired.');
      assert.match(response.headers['www-authenticate'], /^Bearer .*error="invalid_token", error_description="The token has expired\."/);
    }
    const wrong = await cluster.request('GET', '/api/me', { headers: { Authorization: `${Authorization}x` } });
    assert.notEqual(assertProblem(wrong, 401).detail, 'The token has expired.');
    assert.doesNotMatch(wrong.headers['www-authenticate'], /invalid_token/);
  });

  test('an unknown user and a wrong secret get the same 401', async () => {
    const details = [];
    for (const [as, secret] of [['User_1', 'wrong'], ['Nobody_1', 'wrong']]) {
      const response = await cluster.request('GET', '/api/login', { as, signing: { secret } });
      details.push([assertProblem(response, 401).detail, response.headers['www-authenticate']]);
    }
    assert.deepEqual(details[0], details[1]);
  });
});

suite("the RAG chatbot's document: /health", {}, ({ test, cluster }) => {
  const PATHS = ['/health', '/health/', '/health/live', '/health/ready'];

  test('/health, /health/, /health/live and /health/ready are 200 with {"status","dependencies"}, and details are an object or null', async () => {
    for (const node of [0, 1]) {
      for (const path of PATHS) {
        const health = assertOk(await cluster.request('GET', path, { node }));
        assertMembers(health, ['status', 'dependencies']);
        assert.ok(['healthy', 'degraded'].includes(health.status), health.status);
        for (const name of ['redis', 'engines', 'embeddings', 'vectors']) assert.ok(name in health.dependencies, name);
        for (const dependency of Object.values(health.dependencies)) {
          assertMembers(dependency, ['status', 'details']);
          assert.ok(['connected', 'configured', 'error'].includes(dependency.status), dependency.status);
          assert.ok(dependency.details === null || typeof dependency.details.message === 'string', JSON.stringify(dependency));
        }
      }
    }
  });

  test('without Redis all of them report unhealthy with 200, except /health/ready and /api/health: 503, like /readyz', async () => {
    await cluster.redis.kill();
    await eventually(async () => (await cluster.request('GET', '/readyz', { node: 0 })).status === 503, { what: '/readyz fails' });
    for (const path of [...PATHS, '/api/health']) {
      const { json, status } = await cluster.request('GET', path, { node: 0 });
      const isProbe = path === '/health/ready' || path === '/api/health';
      assert.deepEqual([path, status, json.status], [path, isProbe ? 503 : 200, 'unhealthy']);
      assert.equal(json.dependencies.redis.status, 'error');
      assert.equal(typeof json.dependencies.redis.details.message, 'string');
    }
  }, { sweep: false });
});
