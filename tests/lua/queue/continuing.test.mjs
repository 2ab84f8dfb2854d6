// SPDX-License-Identifier: MIT
//
// Answers of the doors whose engine was lost in the middle: which pieces stay, who gets them, and who begins again.
import assert from 'node:assert/strict';
import { lines, scripts, tailOf } from '../../support/lua.mjs';

const MODEL = 'chat/llama3', TAIL = tailOf({ user: 'alice', model: 'llama3', query: 'Hi' }), REQUEST = JSON.stringify('{"messages":[]}');
const PLAIN = 'E|llama3,chat/llama3', CONTINUES = 'F|llama3,chat/llama3,continues/llama3';
const A = '{"choices":[1]}', B = '{"choices":[2]}';

scripts('an answer whose engine is lost', ({ test, shard }) => {
  const get = async (field) => (await shard.get('t:ask.1'))?.[field];
  const log = () => shard.cmd('XLEN', shard.key('partials:ask.1:1'));
  const claim = async (of) => (await shard.call('claim', 0, of, '0')).split('\n');
  const partial = (lease, holder, offset, delta, isMore = '') => shard.call('partial', 0, 'ask.1', 1, lease, offset, '', '', 1000, holder, 'whole', '', delta, isMore);
  const release = (lease, holder, outcome = 'retry') => shard.call('release', 0, 'ask.1', lease, holder, '', '"gone"', outcome);
  // An engine has the query and has said A.
  const begin = async ({ isMore = '', continues = true, tail = TAIL } = {}) => {
    await shard.cmd('FLUSHALL');
    await shard.seed({ models_seen: { [MODEL]: `${Date.now()} E `, ...(continues ? { 'continues/llama3': `${Date.now()} F ` } : {}) } });
    assert.match(await shard.call('door_ask', 0, 'ask.1', 'a', 'd', 'alice', 'Frontend_1', MODEL, 1, 100, tail, REQUEST), /^ok/);
    const [, , , lease] = await claim(PLAIN);
    assert.match(await partial(lease, 'E', 0, A, isMore), /^ok/);
    return lease;
  };
  const assertLost = async () => {
    assert.equal(await log(), 0);
    assert.equal(await get('o:1'), undefined);
    assert.equal(await get('k:1'), '1');
  };

  test('one that continues gets its pieces with the request, at their offset and in the same claim', async () => {
    assert.equal(await release(await begin(), 'E'), 'ok');
    assert.equal(await get('o:1'), String(A.length));
    assert.equal(await get('k:1'), undefined);
    assert.match(await shard.call('partials', 'ask.1', 1, '0-0', ''), new RegExp(`^0\\nOpen\\n[^]*\\0\\d+:1-${A.length}1:d\\d+:`));
    const text = await claim(CONTINUES);
    assert.equal(text.at(-1), `${REQUEST.length} ${A.length}`);
    assert.equal(await get('o:1'), undefined);
    const id = `1-${A.length}`;
    assert.equal(await shard.call('request', 'ask.1', 1, text[3], '1'), `ok\n${REQUEST}\0${id.length}:${id}1:d${A.length}:${A}`);
    assert.match(await partial(text[3], 'F', A.length, B), new RegExp(`^ok\\n${A.length + B.length}\\n\\n1\\n`));
    assert.match(await shard.call('complete', 0, 'ask.1', 1, text[3], 'F', '', lines('["Hi"]', 'null', 'null'), '', '', '', '', '', '', '', A.length + B.length), /^ok/);
    assert.equal(await log(), 2);
  });

  test('one that is parked gets it at once, and before one that begins again', async () => {
    const lease = await begin({ continues: false });
    assert.equal(await shard.call('claim', 0, CONTINUES, '1'), 'parked');
    const { replies, events } = await shard.turn([['release', 0, 'ask.1', lease, 'E', '', '"gone"', 'retry']]);
    assert.deepEqual(replies, ['ok']);
    assert.equal(events.at(-1).split('\n').at(-1), `${REQUEST.length} ${A.length}`);
  });

  test('another one begins again, and who waits is notified', async () => {
    assert.equal(await release(await begin(), 'E'), 'ok');
    const { replies, events } = await shard.turn([['claim', 0, PLAIN, '0']]);
    assert.equal(replies[0].split('\n').at(-1), REQUEST);
    assert.deepEqual(events, ['changed\nask.1\n1']);
    await assertLost();
  });

  test('without one that continues nothing stays', async () => {
    assert.equal(await release(await begin({ continues: false }), 'E'), 'ok');
    await assertLost();
  });

  test('nor of more than text, of a request of several answers, or before the first piece', async () => {
    assert.equal(await release(await begin({ isMore: '1' }), 'E'), 'ok');
    await assertLost();
    assert.equal(await get('e:1'), undefined);
    assert.equal(await release(await begin({ tail: TAIL.replace('\n{}\n', '\n{"Continue":false}\n') }), 'E'), 'ok');
    await assertLost();
    await shard.cmd('FLUSHALL');
    await shard.seed({ models_seen: { [MODEL]: `${Date.now()} E `, 'continues/llama3': `${Date.now()} F ` } });
    assert.match(await shard.call('door_ask', 0, 'ask.1', 'a', 'd', 'alice', 'Frontend_1', MODEL, 1, 100, TAIL, REQUEST), /^ok/);
    assert.equal(await release((await claim(PLAIN))[3], 'E'), 'ok');
    await assertLost();
  });

  test('one that is lost as well leaves what both have said, and a claim that did not arrive changes nothing', async () => {
    assert.equal(await release(await begin(), 'E'), 'ok');
    const undelivered = await claim(CONTINUES);
    assert.equal(await shard.call('give_back', 'ask.1', undelivered[3], ''), 'ok');
    assert.equal(await get('o:1'), String(A.length));
    const second = await claim(CONTINUES);
    assert.match(await partial(second[3], 'F', A.length, B), /^ok/);
    assert.equal(await release(second[3], 'F', 'away'), 'ok');
    assert.equal((await claim(CONTINUES)).at(-1), `${REQUEST.length} ${A.length + B.length}`);
  });

  test('one that was cancelled and is opened again begins anew', async () => {
    assert.equal(await release(await begin(), 'E'), 'ok');
    assert.equal(await shard.call('cancel', 0, 'ask.1', 1, '', '"no"'), 'ok');
    assert.equal(await shard.call('retry', 0, 'ask.1', 1), 'ok');
    assert.equal((await claim(CONTINUES)).at(-1), REQUEST);
  });

  test('a model of engines that continue is no model that clients see', async () => {
    await shard.seed({ models_seen: { [MODEL]: `${Date.now()} E `, 'continues/llama3': `${Date.now()} E ` } });
    assert.match(await shard.call('models', 0), /^ok\nllama3\nchat\n\d+$/);
  });
});
