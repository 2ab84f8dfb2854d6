// SPDX-License-Identifier: MIT
//
// What is watched: a real Prometheus scrapes nodes, each query of the dashboard gives data, and each alert fires when its
// reason is there. The rules run with shorter times, in a copy that is made here.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertOk, eventually, newTopic, ROOT, suite } from '../support/harness.mjs';
import { checkWithPromtool, findPrometheus, startPrometheus } from '../support/prometheus.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // rules and queries: the same on any number of shards; the dashboard is read from four

const ALERTS = 'deploy/monitoring/alerts.yml';
const WINDOW = '15s';
const { bin, missing } = findPrometheus();
const OPTIONS = { skip: missing ?? false, ms: 300_000 };

// Minutes of waiting become a second, windows of five minutes a quarter of one, and an old query one of two seconds.
const hasten = (text) => text.replaceAll(/for: \d+m/g, 'for: 1s').replaceAll('[5m]', `[${WINDOW}]`).replace('> 300', '> 2');

const page = () => readFileSync(join(ROOT, 'docs/operations/alerts.md'), 'utf8');
const namesOf = (text) => [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
const rules = () => readFileSync(join(ROOT, ALERTS), 'utf8');

// One question from its adding to its answer, with a partial in between.
async function ask(cluster) {
  const { Topic } = await cluster.add();
  const claim = await cluster.claim({ wait: 30, detail: true });
  const [Seq] = Object.keys(claim.Queries[0]).map(Number);
  const body = { Topic: claim.Topic, Seq, Lease: claim.Lease, Offset: 0, Answer: '4' };
  assertOk(await cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body }));
  await cluster.answer({ Topic: claim.Topic, Seq, Lease: claim.Lease, Usage: { prompt_tokens: 7, completion_tokens: 1 } });
  return Topic;
}

const sampleOf = async (prometheus, query) => Number((await prometheus.query(query))[0]?.value[1]);

// All queries of the dashboard, with their variables set.
function queriesOfDashboard() {
  const { panels } = JSON.parse(readFileSync(join(ROOT, 'deploy/monitoring/dashboard.json'), 'utf8'));
  return panels
    .flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))
    .map(({ title, expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', WINDOW).replaceAll('$job', 'parley') }));
}

suite('what ships for Prometheus', { nodes: 1, sweep: false }, ({ test }) => {
  test('promtool accepts the rules and the example of a configuration', async () => {
    assert.match(checkWithPromtool(bin, 'rules', ALERTS), new RegExp(`SUCCESS: ${namesOf(rules()).length} rules found`));
    assert.match(checkWithPromtool(bin, 'config', 'deploy/monitoring/prometheus.yml'), /SUCCESS/);
  }, OPTIONS);

  test('each alert has a severity, a sentence, a step to take and a heading in the runbook', async () => {
    const names = namesOf(rules());
    assert.ok(names.length > 0);
    for (const block of rules().split(/^ {6}- /m).slice(1)) {
      const [, name] = /^alert: (\w+)/.exec(block);
      assert.match(block, /severity: (critical|warning)/, name);
      assert.match(block, /summary: '.+'/, name);
      assert.match(block, /runbook: '.+\.'/, name);
      assert.ok(block.includes(`runbook_url: docs/operations/alerts.md#${name.toLowerCase()}`), name);
      assert.match(page(), new RegExp(`^## ${name}$`, 'm'));
    }
  });
});

suite('a cluster that Prometheus scrapes', { nodes: 2, sweep: false, args: ['--shards', '4'] }, ({ test, cluster }) => {
  test('every query of the dashboard gives data, and a healthy cluster fires nothing', async () => {
    const prometheus = await startPrometheus(cluster.nodes, { rules: ALERTS, hasten });
    try {
      const empty = new Map(queriesOfDashboard().map(({ title, expr }) => [expr, title]));
      assert.ok(empty.size > 30, `${empty.size} queries`);
      const worked = [];
      await eventually(
        async () => {
          worked.push(await ask(cluster));
          for (const expr of empty.keys()) {
            const values = (await prometheus.query(expr)).map(({ value }) => Number(value[1]));
            if (values.some(Number.isFinite)) empty.delete(expr);
          }
          return empty.size === 0;
        },
        { ms: 120_000, every: 200, what: 'data for each query' },
      ).catch((error) => {
        throw new Error(`no data: ${JSON.stringify([...empty], null, 1)}`, { cause: error });
      });
      // On a slow machine an alert may fire for a moment; one that fires because its rule is wrong keeps firing.
      const firing = async () => (await prometheus.alerts()).filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
      await eventually(async () => assert.deepEqual(await firing(), []) ?? true, { ms: 90_000, every: 200, what: 'no alert fires' });
      const counted = async (name) => sampleOf(prometheus, `sum(${name})`);
      for (const name of ['parley_answer_seconds_count', 'parley_queue_seconds_count', 'parley_first_token_seconds_count', 'parley_lease_ends_total{reason="answered"}']) {
        await eventually(async () => (await counted(name)) === worked.length, { what: `${name} has each answer, whichever node was scraped last` });
      }
      // A scrape misses a node that takes longer than a second to answer.
      const says = (query, fits) => eventually(async () => fits(await sampleOf(prometheus, query)), { what: query });
      await says('sum(parley_redis_round_trip_seconds_count)', (n) => n > worked.length);
      await says('sum(parley_threads)', (n) => n === 2);
      await says('count(parley_build_info)', (n) => n === 2);
    } finally {
      await prometheus.stop();
    }
  }, OPTIONS);
});

// No engine has ever been here when the first test begins.
suite('a cluster in trouble', { nodes: 2, servers: 1, sweep: false, args: ['--queue-max', '16', '--lease-seconds', '1'] }, ({ test, cluster }) => {
  const tested = new Set();

  // Repeats `cause` until the alert fires with labels that fit.
  async function fires(prometheus, name, cause = async () => {}, fits = () => true) {
    assert.ok(namesOf(rules()).includes(name), name);
    const alert = await eventually(
      async () => {
        await cause();
        return (await prometheus.alerts()).find(({ labels, state }) => labels.alertname === name && state === 'firing' && fits(labels));
      },
      { ms: 90_000, every: 100, what: `${name} fires` },
    );
    assert.ok(alert.annotations.summary.length > 10, name);
    assert.doesNotMatch(alert.annotations.summary, /NaN|<no value>|error/);
    tested.add(name);
  }

  // Runs `body(prometheus)` with one that scrapes these nodes.
  const watched = async (body, nodes = cluster.nodes) => {
    const prometheus = await startPrometheus(nodes, { rules: ALERTS, hasten });
    try {
      await body(prometheus);
    } finally {
      await prometheus.stop();
    }
  };

  const FRONTENDS = ['Frontend_1', 'Frontend_heavy', 'User_1', 'User_2'];
  const addAsAnybody = () => Promise.all(FRONTENDS.map((as) => cluster.addRaw({ as })));

  test('queries that wait without an engine: old, nobody to serve them, then a full queue and 503', async () => {
    await watched(async (prometheus) => {
      await cluster.add();
      await fires(prometheus, 'ParleyNoEngine');
      await fires(prometheus, 'ParleyQueueOld');
      await fires(prometheus, 'ParleyQueueFull', addAsAnybody);
      await fires(prometheus, 'ParleyServerErrors', addAsAnybody);
      assert.equal(await sampleOf(prometheus, 'max(parley_queue_limit)'), 16);
    });
  }, OPTIONS);

  test('engines that claim and die let their leases expire, and those that are late have their answers refused', async () => {
    await watched(async (prometheus) => {
      await fires(prometheus, 'ParleyLeasesExpire', async () => {
        const claim = await cluster.claim({ detail: true });
        if (claim.Topic === null) await cluster.addRaw({});
      });
      const { Topic } = await eventually(async () => (await cluster.addRaw({ Topic: newTopic() })).json);
      await fires(prometheus, 'ParleyAnswersRefused', () => cluster.answerRaw({ Topic, Seq: 1, Query: 'not that one' }));
    });
  }, OPTIONS);

  test('a client with a wrong secret', async () => {
    await watched((prometheus) =>
      fires(prometheus, 'ParleyLoginFailures', () =>
        Promise.all(Array.from({ length: 5 }, () => cluster.request('GET', '/api/user-topics', { as: newTopic('nobody'), query: { OnBehalfOf: 'alice' } }))),
      ),
    );
  }, OPTIONS);

  test('a node that is killed is named', async () => {
    const dying = await cluster.startNode();
    await watched(async (prometheus) => {
      await eventually(async () => (await prometheus.query('sum(up)'))[0]?.value[1] === '3', { what: 'all are up' });
      await dying.kill();
      // The alert may also fire for another node that was slow for a second.
      await fires(prometheus, 'ParleyNodeDown', undefined, ({ instance }) => instance === new URL(dying.url).host);
    });
  }, OPTIONS);

  test('a Redis that answers late makes calls and requests slow', async () => {
    await watched(async (prometheus) => {
      const late = async () => {
        await cluster.redis.cmd('CLIENT', 'PAUSE', '1500', 'WRITE');
        await Promise.all([0, 1].flatMap((node) => [1, 2].map(() => cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'alice' }, node }))));
      };
      await fires(prometheus, 'ParleyRedisSlow', late);
      await fires(prometheus, 'ParleySlowRequests', late);
    });
  }, OPTIONS);

  test('a Redis that is gone: nodes are not connected, verbs fail, and both end when it is back', async () => {
    await watched(async (prometheus) => {
      await eventually(async () => (await prometheus.query('sum(parley_redis_connected)'))[0]?.value[1] === '2', { what: 'both are connected' });
      await cluster.redis.kill();
      await fires(prometheus, 'ParleyRedisLost');
      await fires(prometheus, 'ParleyVerbsFail', addAsAnybody);
      await eventually(async () => (await prometheus.targets()).filter(({ health }) => health === 'up').length === 2, { what: 'scrapes do not depend on Redis' });
      await cluster.redis.restart();
      await eventually(async () => (await prometheus.alerts()).every(({ labels }) => !['ParleyRedisLost', 'ParleyVerbsFail'].includes(labels.alertname)), { ms: 90_000, what: 'they end' });
    });
  }, OPTIONS);

  test('every alert was caused by one of these tests', async () => {
    assert.deepEqual([...tested].sort(), namesOf(rules()).sort());
  }, OPTIONS);
});
