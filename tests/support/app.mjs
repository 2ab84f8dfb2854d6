// SPDX-License-Identifier: MIT
//
// app: the web app in a browser, and an engine whose every word a test decides.
//
//   const app = await openApp(browser, cluster.nodes[0].url)     the page that asks to sign in
//   await app.signIn('User_1', cluster.accounts.User_1.secret)
//   await app.ask('Why?')
//   const engine = await takeQuestion(cluster)                   {Topic, Seq, Query, write(text), think(text), end(text)}
//   await app.sees('42')                                         until the text of the page contains it
//   watchReports(cluster)                                        after each test: no browser reported anything that the policy forbids
//   app.assertSafe()                                             nothing was asked elsewhere, and the browser objects to nothing
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach } from 'node:test';
import { assertOk, eventually } from './harness.mjs';

// A tab whose network is away or whose node dies says so in its console; everything else is a fault.
const OF_THE_NETWORK =
  /^(Failed to load resource: |WebSocket connection to '[^']*' failed: Error [\w ]+: )(net::ERR_|the server responded with a status of (4\d\d|50[234])|Unexpected response code: (4\d\d|50[234]))/;
const WAIT_MS = 20_000;

// How much browsers have reported to the nodes that are alive.
export async function reportsOf(cluster) {
  const texts = await Promise.all(cluster.nodes.filter(({ alive }) => alive).map(async (node) => (await cluster.request('GET', '/metrics', { node })).text));
  return texts.reduce((sum, text) => sum + Number(/^parley_policy_violations_total (\d+)$/m.exec(text)[1]), 0);
}

export function watchReports(cluster) {
  afterEach(async () => assert.equal(await reportsOf(cluster), 0, 'browsers reported what the policy forbids'));
}

export async function openApp(browser, url, { path = 'app/', ...view } = {}) {
  return new App(await browser.open(new URL(path, url).href, view), url);
}

class App {
  constructor(page, url) {
    Object.assign(this, { page, tab: page.tab, origin: new URL(url).origin });
    this.tab.setDefaultTimeout(WAIT_MS);
  }

  button(name) {
    return this.tab.getByRole('button', { name, exact: true });
  }

  async signIn(user, secret) {
    await this.tab.getByLabel('Account name').fill(user);
    await this.tab.getByLabel('Secret', { exact: true }).fill(secret);
    await this.button('Sign in').click();
  }

  get question() {
    return this.tab.getByRole('textbox', { name: 'Your question' });
  }

  async ask(text) {
    await this.question.fill(text);
    await this.question.press('Enter');
  }

  async sees(text) {
    await this.tab.getByText(text).first().waitFor().catch(async (cause) => {
      throw new Error(`the page does not show "${text}" but\n${await this.text('body')}\n${this.page.complaints.join('\n')}`, { cause });
    });
  }

  text(selector) {
    return this.tab.locator(selector).innerText();
  }

  // The topic that the address names.
  get topic() {
    return decodeURIComponent(new URL(this.tab.url()).hash.replace('#/t/', ''));
  }

  async another(path = 'app/') {
    return new App(await this.page.another(new URL(path, this.origin).href), this.origin);
  }

  assertSafe() {
    for (const url of this.page.requests) assert.ok(url.startsWith(`${this.origin}/`) || url.startsWith(`blob:${this.origin}/`), url);
    assert.deepEqual(this.page.complaints.filter((one) => !OF_THE_NETWORK.test(one)), []);
  }

  // PARLEY_TEST_SHOTS names a folder for pictures.
  async shot(name) {
    if (process.env.PARLEY_TEST_SHOTS) await this.tab.screenshot({ path: join(process.env.PARLEY_TEST_SHOTS, `${name}.png`) });
  }
}

export async function takeQuestion(cluster, { node } = {}) {
  const claim = await eventually(async () => {
    const one = await cluster.claim({ detail: true, node });
    return one.Topic !== null && one;
  });
  const { Topic, Lease, Queries } = claim;
  const [[Seq, Query]] = Object.entries(Queries[0]);
  let Offset = 0;
  const partial = async (member, text) => {
    assertOk(await cluster.request('POST', '/api/give-partial', { as: 'Inference_1', node, body: { Topic, Lease, Seq: Number(Seq), Offset, [member]: text } }));
    Offset += Buffer.byteLength(text);
  };
  return {
    Topic, Seq: Number(Seq), Query, claim,
    think: (text) => partial('Think', text),
    write: (text) => partial('Answer', text),
    end: (text, more = {}) => cluster.answer({ Topic, Lease, Seq: Number(Seq), Query, Answer: [text], node, ...more }),
  };
}
