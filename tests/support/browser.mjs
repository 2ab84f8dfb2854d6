// SPDX-License-Identifier: MIT
//
// browser: a real browser without a window, driven by playwright-core. Tests that need one are skipped where none is installed:
// Debian's is the package chromium.
//
//   findBrowser()                       its path; undefined: there is none
//   const browser = await Browser.start()
//   const page = await browser.open(url, {width, scheme: 'dark', scripts: false})
//   page.requests, page.complaints      URLs that the page asked for; what the browser objected to (policy, errors)
//   page.tab                            Playwright's page, for clicks and keys
//   await page.send(method, parameters) the DevTools protocol
//   await page.evaluate(expression)     its value, as JSON; not with scripts: false
//   await page.screenshot(file)
//   const loaded = page.loaded(); …; await loaded          what a click leads to
//   await page.evaluate(`(${contrasts})()`)                [text, contrast] of every text
//   const tab = await page.another(url)                    another tab of the same browser profile
//   await browser.stop()
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
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
    const args = ['--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
    return new Browser(await chromium.launch({ executablePath: findBrowser(), chromiumSandbox: false, args }));
  }

  constructor(chrome) {
    this.chrome = chrome;
  }

  async open(url, { width = 1200, scheme = 'light', scripts = true } = {}) {
    const context = await this.chrome.newContext({ viewport: { width, height: HEIGHT }, isMobile: width < 600, colorScheme: scheme, reducedMotion: 'reduce', javaScriptEnabled: scripts, locale: 'en-GB' });
    return Page.open(context, url);
  }

  async stop() {
    await this.chrome.close();
  }
}

class Page {
  requests = [];
  complaints = [];

  static async open(context, url) {
    const page = new Page();
    page.tab = await context.newPage();
    page.session = await context.newCDPSession(page.tab);
    await page.#listen();
    await page.go(url);
    return page;
  }

  async #listen() {
    this.session.on('Network.requestWillBeSent', ({ request }) => this.requests.push(request.url));
    this.session.on('Log.entryAdded', ({ entry }) => this.complaints.push(entry.text));
    this.session.on('Runtime.exceptionThrown', ({ exceptionDetails }) => this.complaints.push(exceptionDetails.exception?.description ?? exceptionDetails.text));
    this.session.on('Audits.issueAdded', ({ issue }) => this.complaints.push(issue.code === 'GenericIssue' ? issue.details.genericIssueDetails.errorType : issue.code));
    for (const domain of ['Network', 'Log', 'Runtime', 'Audits']) await this.send(`${domain}.enable`);
  }

  send(method, params = {}) {
    return this.session.send(method, params);
  }

  another(url) {
    return Page.open(this.tab.context(), url);
  }

  // Resolves with the next page that is loaded.
  loaded() {
    return this.tab.waitForEvent('load');
  }

  async go(url) {
    await this.tab.goto(url);
  }

  async evaluate(expression) {
    return this.tab.evaluate(expression);
  }

  async screenshot(path) {
    await this.tab.screenshot({ path, fullPage: true });
  }
}
