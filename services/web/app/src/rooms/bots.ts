// SPDX-License-Identifier: MIT
//
// bots: the bots of the namespace.
import { signal } from '@preact/signals';
import { call, onBehalf, pages } from '../session/session';

export interface Bot {
  username: string;
  emulates: string | null;
  /** Null for bots of others, and for bots that pull. */
  endpoint: string | null;
  format: 'annex' | 'zulip';
  pulls: boolean;
}

export interface Secrets {
  username: string;
  caller_key: string;
  signing_secret: string;
}

/** null: not loaded yet. */
export const bots = signal<Bot[] | null>(null);

export async function loadBots(): Promise<void> {
  const all: Bot[] = [];
  for await (const page of pages<{ bots: Bot[] }>('api/bots', { ...onBehalf(), limit: 1000 })) all.push(...page.bots);
  bots.value = all;
}

const pathOf = (name: string) => `api/bots/${encodeURIComponent(name)}`;

export async function registerBot(bot: { username: string; emulates: string | null; endpoint: string | null; format: string }): Promise<Secrets> {
  const secrets = (await (await call('POST', 'api/bots', { query: onBehalf(), body: bot })).json()) as Secrets;
  await loadBots();
  return secrets;
}

export const rotateBot = async (name: string): Promise<Secrets> => (await call('POST', `${pathOf(name)}/rotate`, { query: onBehalf() })).json();

export async function removeBot(name: string): Promise<void> {
  await call('DELETE', pathOf(name), { query: onBehalf() });
  bots.value = bots.value?.filter((one) => one.username !== name) ?? null;
}
