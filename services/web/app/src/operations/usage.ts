// SPDX-License-Identifier: MIT
//
// usage: what accounts have used, as `GET /api/usage` has it for an operator, added up by account.
import { call } from '../session/session';

/** Null: no limit. */
export type Budget = { max: number; used: number } | null;

export interface Counts {
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  estimated_requests: number;
}

interface Row extends Counts {
  day: string;
  api: string | null;
  /** Null: models that are not counted apart. */
  model: string | null;
}

export interface AccountUsage {
  account: string;
  requests_per_minute: Budget;
  tokens_per_day: Budget;
  max_concurrent: Budget;
  rows: Row[];
}

interface Page {
  accounts: AccountUsage[];
  next: number | null;
}

/** Pages of accounts that are read at a time: 1,000 accounts. */
const PAGES_MAX = 50;

/** Accounts without a use and without a budget are left out. */
export async function readUsage(days: number, signal: AbortSignal): Promise<AccountUsage[]> {
  const all: AccountUsage[] = [];
  for (let after: number | null = 0, n = 0; after !== null && n < PAGES_MAX; n += 1) {
    const page: Page = await (await call('GET', 'api/usage', { query: { days, after }, signal })).json();
    all.push(...page.accounts);
    after = page.next;
  }
  const hasBudget = (one: AccountUsage) => one.requests_per_minute ?? one.tokens_per_day ?? one.max_concurrent;
  return all.filter((one) => one.rows.length > 0 || hasBudget(one)).sort((a, b) => tokensOf(sumOf(b.rows)) - tokensOf(sumOf(a.rows)));
}

export const tokensOf = (counts: Counts) => counts.prompt_tokens + counts.completion_tokens;

export function sumOf(rows: Counts[]): Counts {
  const sum: Counts = { requests: 0, prompt_tokens: 0, completion_tokens: 0, estimated_requests: 0 };
  for (const row of rows) for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += row[name];
  return sum;
}

/** By model, the most tokens first. */
export function byModel(rows: Row[]): { model: string | null; counts: Counts }[] {
  const models = [...new Set(rows.map(({ model }) => model))];
  return models.map((model) => ({ model, counts: sumOf(rows.filter((row) => row.model === model)) })).sort((a, b) => tokensOf(b.counts) - tokensOf(a.counts));
}
