// SPDX-License-Identifier: MIT
// pages - what holds for every HTML page that a node serves.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

const sourceOf = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** The page may load nothing and be framed by nobody; its one style, and its one script if it may have one, are allowed by their hashes. */
export function assertSafePage({ text, headers }, { hasForm = false, hasScript = false } = {}) {
  assert.doesNotMatch(text, /<(img|iframe|link|object)\b|<[^>]*\s(on\w+|style|src)=|(href|action)="javascript:/i);
  if (!hasForm) assert.doesNotMatch(text, /<form\b/i);
  const [styles, scripts] = ['style', 'script'].map((name) => [...text.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, 'g'))].map(([, source]) => sourceOf(source)));
  assert.equal(styles.length, 1);
  assert.equal(scripts.length, hasScript ? 1 : 0);
  assert.equal(text.match(/<script\b/gi)?.length ?? 0, scripts.length);
  assert.equal(
    headers['content-security-policy'],
    `default-src 'none'; style-src '${styles[0]}'; script-src '${scripts[0] ?? 'none'}'; base-uri 'none'; form-action '${hasForm ? 'self' : 'none'}'; frame-ancestors 'none'`,
  );
  assert.equal(headers['x-content-type-options'], 'nosniff');
}
