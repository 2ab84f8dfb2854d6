// SPDX-License-Identifier: MIT
// pages - what holds for every HTML page that a node serves.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

/** The page may load nothing, run nothing and be framed by nobody; its one style is allowed by its hash. */
export function assertSafePage({ text, headers }, { hasForm = false } = {}) {
  assert.doesNotMatch(text, /<(script|img|iframe|link|object)\b|<[^>]*\s(on\w+|style)=|(href|src|action)="javascript:/i);
  if (!hasForm) assert.doesNotMatch(text, /<form\b/i);
  const styles = [...text.matchAll(/<style>([^]*?)<\/style>/g)];
  assert.equal(styles.length, 1);
  const hash = createHash('sha256').update(styles[0][1]).digest('base64');
  assert.equal(
    headers['content-security-policy'],
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action '${hasForm ? 'self' : 'none'}'; frame-ancestors 'none'`,
  );
  assert.equal(headers['x-content-type-options'], 'nosniff');
}
