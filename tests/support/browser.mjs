// SPDX-License-Identifier: MIT
//
// browser: a real browser without a window, driven over the DevTools protocol. Tests that need one are skipped where none is
// installed: Debian's is the package chromium.
//
//   findBrowser()                       its path; undefined: there is none
//   const browser = await Browser.start()
//   const page = await browser.open(url, {width, scheme: 'dark', scripts: false})
//   page.requests, page.complaints      URLs that the page asked for; what the browser objected to (policy, errors)
//   await page.evaluate(expression)     its value, as JSON; not with scripts: false
//   await page.screenshot(file)
//   const loaded = page.loaded(); …; await loaded          what a click leads to
//   await page.evaluate(`(${contrasts})()`)                [text, contrast] of every text
//   await browser.stop()
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import WebSocket from 'ws';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const HEIGHT = 900;

export function findBrowser() {
  const places = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return places.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

// Runs in the page: [text, contrast] of every element with text of its own (WCAG 2.2, 1.4.3).
export function contrasts() {
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = parts(color).slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isClear = (color) => parts(color).length === 4 && parts(color)[3] === 0;
  const backOf = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return isClear(color) && element.parentElement ? backOf(element.parentElement) : color;
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.body.querySelectorAll('*')].filter(hasText).map((element) => {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(backOf(element))];
    return [element.textContent.trim(), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
}

export class Browser {
  static async start() {
    const folder = mkdtempSync(join(tmpdir(), 'parley-browser-'));
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--remote-debugging-port=0'];
    const child = spawn(findBrowser(), [...flags, `--user-data-dir=${folder}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    const address = await new Promise((resolve, reject) => {
      let said = '';
      child.stderr.on('data', (bytes) => {
        said += bytes;
        const found = /DevTools listening on (ws:\S+)/.exec(said);
        if (found) resolve(found[1]);
      });
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`the browser ended (${code}): ${said.slice(-2000)}`)));
    });
    const socket = new WebSocket(address, { perMessageDeflate: false });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return new Browser(child, folder, socket);
  }

  #calls = new Map();
  #pages = new Map();
  #last = 0;

  constructor(child, folder, socket) {
    Object.assign(this, { child, folder, socket });
    socket.on('message', (bytes) => {
      const { id, result, error, method, params, sessionId } = JSON.parse(bytes);
      if (id === undefined) this.#pages.get(sessionId)?.on(method, params);
      else if (error) this.#calls.get(id).reject(new Error(error.message));
      else this.#calls.get(id).resolve(result);
    });
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  }

  async open(url, { width = 1200, scheme = 'light', scripts = true } = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page((method, params) => this.send(method, params, sessionId));
    this.#pages.set(sessionId, page);
    for (const domain of ['Page', 'Network', 'Log', 'Runtime', 'Audits']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setScriptExecutionDisabled', { value: !scripts });
    await page.send('Emulation.setDeviceMetricsOverride', { width, height: HEIGHT, deviceScaleFactor: 1, mobile: width < 600 });
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    await page.go(url);
    return page;
  }

  async stop() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.send('Browser.close').catch(() => {});
    await ended;
    this.socket.terminate();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

class Page {
  requests = [];
  complaints = [];
  #loaded;

  constructor(send) {
    this.send = send;
  }

  on(method, params) {
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    if (method === 'Log.entryAdded') this.complaints.push(params.entry.text);
    if (method === 'Runtime.exceptionThrown') this.complaints.push(params.exceptionDetails.text);
    if (method === 'Audits.issueAdded') this.complaints.push(params.issue.code);
    if (method === 'Page.loadEventFired') this.#loaded?.();
  }

  // Resolves with the next page that is loaded.
  loaded() {
    return new Promise((resolve) => (this.#loaded = resolve));
  }

  async go(url) {
    const loaded = this.loaded();
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true, userGesture: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async screenshot(file) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true });
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
}
