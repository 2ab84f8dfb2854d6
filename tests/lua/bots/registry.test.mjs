// SPDX-License-Identifier: MIT
//
// bot_register, _find, _list, _rotate, _delete, _outcome, _forget_user: a name is one bot's or one user's, and a bot is changed by
// the user who registered it.
import assert from 'node:assert/strict';
import { ago, lines, scripts, soon, zset } from '../../support/lua.mjs';
import { post, roomKeys } from '../../support/lua_rooms.mjs';
import { namesOf } from '../../support/lua_rooms.mjs';
import { botOf, FAILURES, HOUR_MS, idOf, NAMES, NAMESPACE_MAX, register, REGISTRANT_MAX, registryOf, REST_MS, TRIAL_MS } from '../../support/lua_bots.mjs';

const find = (bot = 'echo', isCalling = '') => ['bot_find', bot, isCalling];
const outcome = (isGood, bot = 'echo', id = idOf(1)) => ['bot_outcome', bot, id, isGood ? '1' : ''];
const change = (verb, { bot = 'echo', account = 'F', user = 'alice', isOperator = '' } = {}) => [verb, 0, bot, account, user, isOperator];
const foundBy = async (shard, ...args) => {
  const [word, may, ...rest] = (await shard.call(...find(...args))).split('\n');
  return word === 'missing' ? word : { may, ...botOf(rest) };
};

scripts('bot_register', ({ cases, test, shard }) => {
  const fresh = { created: ago(), rotated: ago() };
  const many = (n, given) => registryOf(...Array.from({ length: n }, (_, i) => ({ bot: `b${i}`, id: idOf(i + 10), ...given(i) })));
  cases([
    { name: 'a bot with an endpoint', call: register(), reply: lines('ok', 1), after: () => registryOf(fresh) },
    { name: 'a bot that pulls', call: register({ endpoint: '' }), reply: lines('ok', 1), after: () => registryOf({ endpoint: '', ...fresh }) },
    { name: 'one that speaks for a person, in another format', call: register({ emulates: 'Ada "L"', format: 'zulip' }), reply: lines('ok', 1), after: () => registryOf({ emulates: '"Ada \\"L\\""', format: 'zulip', ...fresh }) },
    { name: 'the same request again', before: registryOf({}), call: register(), reply: lines('ok', 1) },
    { name: 'the name of another bot, also for its registrant', before: registryOf({}), call: register({ id: idOf(2) }), reply: 'taken' },
    { name: 'the name of a user who has posted', before: { [NAMES]: { echo: 'u' } }, call: register(), reply: 'taken' },
    { name: 'one that looks like the name of a bot', before: registryOf({}), call: register({ bot: 'Echo', id: idOf(2) }), reply: 'taken' },
    { name: 'or like that of a user', before: namesOf({ alice: 'u' }), call: register({ bot: 'ALICE' }), reply: 'taken' },
    { name: 'a name that bots may not have is asked for only', call: register({ isAsked: true }), reply: 'free' },
    { name: 'the same name in another namespace', before: registryOf({}), call: register({ bot: 'ns~echo', namespace: 'ns', id: idOf(2), user: 'ns~alice', username: 'ns~echo' }), reply: lines('ok', 1), after: () => registryOf({}, { bot: 'ns~echo', namespace: 'ns', id: idOf(2), user: 'ns~alice', ...fresh }) },
    { name: 'one more than a user may have', before: () => many(REGISTRANT_MAX, () => ({})), call: register(), reply: lines('full', 'registrant') },
    { name: 'the last one that a user may have', before: () => many(REGISTRANT_MAX - 1, () => ({})), call: register(), reply: lines('ok', 1), after: () => registryOf(...Array.from({ length: REGISTRANT_MAX - 1 }, (_, i) => ({ bot: `b${i}`, id: idOf(i + 10) })), fresh) },
    { name: 'others have a bound of their own', before: () => many(REGISTRANT_MAX, () => ({ account: 'G' })), call: register(), reply: lines('ok', 1), after: () => registryOf(...Array.from({ length: REGISTRANT_MAX }, (_, i) => ({ bot: `b${i}`, id: idOf(i + 10), account: 'G' })), fresh) },
    { name: 'one more than a namespace may have', before: () => many(NAMESPACE_MAX, (i) => ({ user: `u${i}`, account: i % 2 ? 'G' : 'H' })), call: register(), reply: lines('full', 'namespace') },
    { name: 'one more than an account may have', before: () => many(NAMESPACE_MAX / 2, (i) => ({ user: `u${i}` })), call: register(), reply: lines('full', 'account') },
    { name: 'another namespace has a bound of its own', before: () => many(NAMESPACE_MAX, (i) => ({ user: `u${i}`, account: 'G' })), call: register({ namespace: 'ns', user: 'ns~a' }), reply: lines('ok', 1), after: () => registryOf(...Array.from({ length: NAMESPACE_MAX }, (_, i) => ({ bot: `b${i}`, id: idOf(i + 10), user: `u${i}`, account: 'G' })), { namespace: 'ns', user: 'ns~a', ...fresh }) },
  ]);

  test('of two clients that want one name, one gets it', async () => {
    const replies = await Promise.all([1, 2].map(async (n) => (await shard.turn([register({ id: idOf(n) })], { node: `n${n}` })).replies[0]));
    assert.deepEqual(replies.sort(), [lines('ok', 1), 'taken']);
  });

  test('a name is a bot\'s or a user\'s, whoever comes first', async () => {
    await shard.seed(roomKeys());
    assert.match(await shard.call(...post({ name: 'ann' })), /^ok/);
    assert.equal(await shard.call(...register({ bot: 'ann' })), 'taken');
    assert.match(await shard.call(...register({ bot: 'ben' })), /^ok/);
    assert.equal(await shard.call(...post({ name: 'ben' })), 'taken');
  });
});

scripts('bot_find', ({ test, shard }) => {
  test('returns how a bot is called', async () => {
    await shard.seed(registryOf({}));
    assert.deepEqual(await foundBy(shard), {
      may: 'go', name: 'echo', id: idOf(1), username: '"echo"', emulates: '', endpoint: 'https://bot.example/', format: 'annex', account: 'F', user: 'alice', role: 'frontend',
      generation: '1', isFormerGood: '0', rotated: '1000', created: '1000', failures: '0', circuit: 'closed', restMs: '0',
    });
    assert.equal(await foundBy(shard, 'nobody'), 'missing');
    await shard.assertKeys(registryOf({}));
  });

  test('a bot that rests is called by nobody, then by one at a time', async () => {
    await shard.seed(registryOf({ failures: 5, open_until: Date.now() + 20_000 }));
    const resting = await foundBy(shard, 'echo', '1');
    assert.deepEqual([resting.may, resting.circuit], ['rest', 'open']);
    assert.ok(Number(resting.restMs) > 0 && Number(resting.restMs) <= 20_000);
    await shard.cmd('HSET', shard.key('bot:echo'), 'open_until', Date.now() - 1);
    assert.equal((await foundBy(shard)).may, 'go', 'a look is no try');
    const tries = await Promise.all([1, 2, 3].map(() => foundBy(shard, 'echo', '1')));
    assert.deepEqual(tries.map(({ may, circuit }) => [may, circuit]).sort(), [['go', 'half'], ['wait', 'half'], ['wait', 'half']]);
    assert.ok(soon(TRIAL_MS)((await shard.get('bot:echo')).trial_until));
    await shard.cmd('HSET', shard.key('bot:echo'), 'trial_until', Date.now() - 1);
    assert.equal((await foundBy(shard, 'echo', '1')).may, 'go', 'the one that tried has died');
  });
});

scripts('bot_outcome', ({ cases, test, shard }) => {
  const bad = (failures, more = {}) => registryOf({ failures, ...more });
  cases([
    { name: 'a success of a bot that is well writes nothing', before: registryOf({}), call: outcome(true), reply: lines('ok', 0, 0) },
    { name: 'a failure is counted', before: registryOf({}), call: outcome(false), reply: lines('ok', 1, 0), after: bad(1) },
    { name: 'the fifth in a row makes it rest', before: bad(FAILURES - 1), call: outcome(false), reply: lines('ok', FAILURES, REST_MS), after: () => bad(FAILURES, { open_until: soon(REST_MS) }) },
    { name: 'a failed try makes it rest again', before: () => bad(FAILURES, { open_until: 1000, trial_until: Date.now() + 5000 }), call: outcome(false), reply: lines('ok', FAILURES + 1, REST_MS), after: () => bad(FAILURES + 1, { open_until: soon(REST_MS) }) },
    { name: 'a success ends the count', before: bad(FAILURES - 1), call: outcome(true), reply: lines('ok', 0, 0), after: registryOf({}) },
    { name: 'a try that succeeds ends the rest', before: () => bad(FAILURES, { open_until: 1000, trial_until: Date.now() + 5000 }), call: outcome(true), reply: lines('ok', 0, 0), after: registryOf({}) },
    { name: 'of a bot that is gone', call: outcome(false), reply: 'missing' },
    { name: 'of a former bot of that name', before: registryOf({}), call: outcome(false, 'echo', idOf(9)), reply: 'missing' },
  ]);

  test('a success between failures keeps it awake', async () => {
    await shard.seed(registryOf({}));
    for (let i = 0; i < 3 * FAILURES; i++) await shard.call(...outcome(i % FAILURES === FAILURES - 1));
    assert.equal((await foundBy(shard)).circuit, 'closed');
  });
});

scripts('bot_rotate and bot_delete', ({ cases, test, shard }) => {
  const others = [['another user', { user: 'bob' }], ['another account', { account: 'G' }], ['the same user of another account', { account: 'G', user: 'alice' }]];
  cases(['bot_rotate', 'bot_delete'].flatMap((verb) => [
    ...others.map(([who, as]) => ({ name: `${verb} by ${who} is refused`, before: registryOf({}), call: change(verb, as), reply: 'forbidden' })),
    { name: `${verb} of a bot that is not there`, call: change(verb), reply: 'missing' },
    { name: `${verb} of a bot of another namespace's name`, before: registryOf({}), call: change(verb, { bot: 'ns~echo', isOperator: '1' }), reply: 'missing' },
  ]).concat([
    { name: 'its registrant deletes a bot: its name is free', before: registryOf({}), call: change('bot_delete'), reply: 'ok', after: { 'bot:echo': null, [NAMES]: null, room_looks: null, bots_n: null, 'bots:%': null, 'bots_of:alice': null } },
    { name: 'an operator may, too; other bots stay', before: registryOf({}, { bot: 'other', id: idOf(2) }), call: change('bot_delete', { account: 'O', user: 'O', isOperator: '1' }), reply: 'ok', after: { ...registryOf({ bot: 'other', id: idOf(2) }), 'bot:echo': null } },
  ]));

  test('the key before the newest one is good for an hour, and the one before that is not', async () => {
    await shard.seed(registryOf({}));
    const state = async () => {
      const { generation, isFormerGood } = await foundBy(shard);
      return [generation, isFormerGood];
    };
    assert.deepEqual(await state(), ['1', '0'], 'the first one has none before it');
    const [word, generation, ...rest] = (await shard.call(...change('bot_rotate'))).split('\n');
    assert.deepEqual([word, generation, botOf(rest).generation, botOf(rest).isFormerGood], ['ok', '2', '2', '1']);
    await shard.cmd('HSET', shard.key('bot:echo'), 'rotated', Date.now() - HOUR_MS + 60_000);
    assert.deepEqual(await state(), ['2', '1']);
    await shard.cmd('HSET', shard.key('bot:echo'), 'rotated', Date.now() - HOUR_MS - 1);
    assert.deepEqual(await state(), ['2', '0']);
    await shard.call(...change('bot_rotate', { account: 'O', user: 'O', isOperator: '1' }));
    assert.deepEqual(await state(), ['3', '1']);
  });

  test('a bot that is registered again has none of the former one\'s failures', async () => {
    await shard.seed(registryOf({ failures: 9, open_until: 9e12, generation: 7 }));
    await shard.call(...change('bot_delete'));
    assert.equal(await shard.call(...register({ id: idOf(2) })), lines('ok', 1));
    const { may, generation, failures, id } = await foundBy(shard, 'echo', '1');
    assert.deepEqual([may, generation, failures, id], ['go', '1', '0', idOf(2)]);
  });
});

scripts('bot_list', ({ test, shard }) => {
  const page = async (namespace, limit = '', after = '') => {
    const [word, cursor, ...rest] = (await shard.call('bot_list', 0, namespace, limit, after)).split('\n');
    assert.equal(word, 'ok');
    const bots = [];
    for (let i = 0; i < rest.length; i += 17) bots.push(botOf(rest.slice(i + 1)));
    return { cursor, bots };
  };

  test('lists the bots of a namespace and no other one\'s, the newest first, in pages', async () => {
    const all = Array.from({ length: 25 }, (_, i) => ({ bot: `b${i}`, id: idOf(i + 1), created: 1000 + Math.floor(i / 2) }));
    await shard.seed(registryOf(...all, { bot: 'ns~b1', namespace: 'ns', id: idOf(99) }));
    const names = [];
    for (let cursor = ''; ;) {
      const got = await page('%', 10, cursor);
      names.push(...got.bots.map(({ name }) => name));
      if (!(cursor = got.cursor)) break;
    }
    assert.deepEqual(names, all.sort((x, y) => y.created - x.created || (x.bot < y.bot ? 1 : -1)).map(({ bot }) => bot));
    assert.deepEqual((await page('ns')).bots.map(({ name }) => name), ['ns~b1']);
    assert.deepEqual(await page('none'), { cursor: '', bots: [] });
  });

  test('a page has a hundred bots at most', async () => {
    await shard.seed(registryOf(...Array.from({ length: 150 }, (_, i) => ({ bot: `b${i}`, id: idOf(i + 1), created: i }))));
    const first = await page('%', 5000);
    assert.equal(first.bots.length, 100);
    assert.equal((await page('%', '', first.cursor)).bots.length, 50);
  });
});

scripts('bot_forget_user', ({ cases, test, shard }) => {
  const forget = (user = 'alice') => ['bot_forget_user', user];
  cases([
    { name: 'a user without bots', before: registryOf({}), call: forget('bob'), reply: lines('done', 0) },
    { name: 'the bots of a user go, of all accounts, and their names are free', before: registryOf({}, { bot: 'b', id: idOf(2), account: 'G' }), call: forget(), reply: lines('done', 2), after: { 'bot:echo': null, 'bot:b': null, [NAMES]: null, room_looks: null, bots_n: null, 'bots:%': null, 'bots_of:alice': null } },
    { name: 'those of others stay', before: registryOf({}, { bot: 'b', id: idOf(2), user: 'bob' }), call: forget(), reply: lines('done', 1), after: { ...registryOf({ bot: 'b', id: idOf(2), user: 'bob' }), 'bot:echo': null, 'bots_of:alice': null } },
    { name: 'a name without its bot goes, too', before: { 'bots_of:alice': zset({ gone: 1 }) }, call: forget(), reply: lines('done', 1), after: { 'bots_of:alice': null } },
  ]);

  test('many go a part at a time', async () => {
    await shard.seed(registryOf(...Array.from({ length: 450 }, (_, i) => ({ bot: `b${i}`, id: idOf(i + 1), account: `F${i % 10}` }))));
    const replies = [];
    do replies.push(await shard.call(...forget()));
    while (replies.at(-1).startsWith('more'));
    assert.deepEqual(replies, [lines('more', 200), lines('more', 200), lines('done', 50)]);
    assert.deepEqual(await shard.names(), []);
  });
});
