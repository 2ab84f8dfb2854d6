// SPDX-License-Identifier: MIT
//
// session: who is signed in. It is a token in this tab's sessionStorage, so it outlives a reload and ends with the tab. The node
// renews it for twelve hours. Other tabs of this browser offer theirs to a new one, and sign out together.
import { signal } from '@preact/signals';
import { addressOf, Problem, rootPath, send, Unreachable, type Call } from '../api/request';
import { exchange } from './provider';
import { signed } from './sign';

export type Role = 'frontend' | 'user' | 'engine' | 'operator';
export interface Session {
  user: string;
  /** What the OpenID provider calls them. */
  name?: string;
  role: Role;
  token: string;
  /** By this browser's clock, whatever the node's says: from when the token came. */
  cameAt: number;
  expiresAt: number;
}
/** Why nobody is signed in any more. */
export type Ending = 'expired' | 'refused' | 'signedOut';
type News = { kind: 'asks' } | { kind: 'has'; session: Session } | { kind: 'leaves'; user: string } | { kind: 'changed'; user: string; topic: string };

const KEY = `parley.session ${rootPath}`;
const MAX_TIMER_MS = 2 ** 31 - 1;
const RETRY_MS = 20_000;
const tabs = new BroadcastChannel(`parley ${rootPath}`);

export const session = signal<Session | null>(restore());
export const ending = signal<Ending | null>(null);
/** Sessions of other tabs, by user. */
export const offers = signal<Session[]>([]);
/** The token cannot be renewed any more, and the session ends at its end. */
export const isLast = signal(false);
const changeListeners = new Set<(topic: string) => void>();
let timer: ReturnType<typeof setTimeout> | undefined;

const isAlive = (one: Session) => one.expiresAt > Date.now();
/** What people call the user. */
export const nameOf = (one: Session) => one.name ?? one.user;
/** Engines have nothing to do here. */
export const canEnter = (one: Session) => one.role !== 'engine';

function restore(): Session | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Session | null;
    return kept && kept.expiresAt > Date.now() ? kept : null;
  } catch {
    return null;
  }
}

// --- its life ---

async function readLogin(response: Response): Promise<Session> {
  const { User, Name, Role, Token, ExpiresIn } = await response.json();
  return { user: User, name: Name, role: Role, token: Token, cameAt: Date.now(), expiresAt: Date.now() + ExpiresIn * 1000 };
}

function keep(next: Session): void {
  sessionStorage.setItem(KEY, JSON.stringify(next));
  session.value = next;
  ending.value = null;
  plan();
}

function end(why: Ending): void {
  clearTimeout(timer);
  sessionStorage.removeItem(KEY);
  isLast.value = false;
  ending.value = why;
  session.value = null;
}

/** Renews the token when three quarters of its time are over; ends the session when it has expired. */
function plan(delayMs?: number): void {
  clearTimeout(timer);
  const now = session.value;
  if (!now) return;
  const left = now.expiresAt - Date.now();
  const usual = isLast.value ? left : now.cameAt + (now.expiresAt - now.cameAt) * 0.75 - Date.now();
  timer = setTimeout(onTimer, Math.min(Math.max(Math.min(delayMs ?? usual, left), 0), MAX_TIMER_MS));
}

function onTimer(): void {
  const now = session.value;
  if (!now) return;
  if (!isAlive(now)) end('expired');
  else if (isLast.value) plan();
  else void renew(now);
}

async function renew(old: Session): Promise<void> {
  try {
    const next = await readLogin(await send('GET', 'api/login', { headers: authorization(old) }));
    if (session.value?.token !== old.token) return;
    keep(next);
    tabs.postMessage({ kind: 'has', session: next } satisfies News);
  } catch (error) {
    isLast.value = error instanceof Problem && error.status === 401;
    plan(isLast.value ? undefined : RETRY_MS);
  }
}

// --- in and out ---

export const signIn = async (user: string, secret: string) => keep(await readLogin(await send('GET', 'api/login', { query: signed(user, secret) })));
export const signInByCode = async (code: string) => keep(await readLogin(await send('POST', 'api/login', { body: { code } })));
export const signInByProvider = async (code: string) => keep(await readLogin(await exchange(code)));
export const continueAs = (offer: Session) => keep(offer);

export function signOut(): void {
  const user = session.value?.user;
  end('signedOut');
  if (user !== undefined) tabs.postMessage({ kind: 'leaves', user } satisfies News);
}

// --- requests of a session ---

const authorization = (of: Session) => ({ Authorization: `Bearer ${of.token}` });

/** A request with the session's token. A token that is refused ends the session. */
export async function call(method: string, path: string, options: Call = {}): Promise<Response> {
  const now = session.value;
  if (!now) throw new Problem(401, 'unauthorized', '', 0);
  try {
    return await send(method, path, { ...options, headers: { ...options.headers, ...authorization(now) } });
  } catch (error) {
    if (error instanceof Problem && error.status === 401 && session.value?.token === now.token) end(isAlive(now) ? 'refused' : 'expired');
    throw error;
  }
}

/** The user for whom an account that acts for others asks: the one of its own name. */
export const onBehalf = (): Record<string, string> => (session.value?.role === 'frontend' ? { OnBehalfOf: session.value.user } : {});

/** All pages of a list, one after the other. */
export async function* pages<T>(path: string, query: Record<string, string | number>, signal?: AbortSignal): AsyncGenerator<T> {
  let next: string | undefined = path;
  let parameters: Record<string, string | number> = query;
  while (next !== undefined) {
    const response: Response = await call('GET', next, { query: parameters, signal });
    yield (await response.json()) as T;
    const link = /^<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    const after = link && new URL(link, addressOf(path)).searchParams.get('after');
    if (!after) return;
    parameters = { ...query, after };
  }
}

// --- other tabs ---

/** Says to other tabs that a topic of this user has changed. */
export function announceChange(topic: string): void {
  if (session.value) tabs.postMessage({ kind: 'changed', user: session.value.user, topic } satisfies News);
}

export function onChange(listener: (topic: string) => void): () => void {
  changeListeners.add(listener);
  return () => changeListeners.delete(listener);
}

function onNews(news: News): void {
  const now = session.value;
  if (news.kind === 'asks' && now) tabs.postMessage({ kind: 'has', session: now } satisfies News);
  if (news.kind === 'has' && isAlive(news.session)) {
    if (!now) offers.value = [...offers.value.filter((one) => one.user !== news.session.user), news.session];
    else if (now.user === news.session.user && now.expiresAt < news.session.expiresAt) keep(news.session);
  }
  if (news.kind === 'leaves') {
    offers.value = offers.value.filter((one) => one.user !== news.user);
    if (now?.user === news.user) end('signedOut');
  }
  if (news.kind === 'changed' && now?.user === news.user) changeListeners.forEach((listener) => listener(news.topic));
}

/** Begins to watch over the session. */
export function startSession(): void {
  tabs.onmessage = ({ data }) => onNews(data as News);
  if (!session.value) tabs.postMessage({ kind: 'asks' } satisfies News);
  plan();
  // A machine that slept has missed its timers.
  for (const name of ['visibilitychange', 'online', 'pageshow']) addEventListener(name, () => plan(), true);
}

export { Problem, Unreachable };
