// SPDX-License-Identifier: MIT
//
// socket: a WebSocket of the session that connects again, until it is closed or refused.
import { signal, type Signal } from '@preact/signals';
import { call, Problem, session } from '../session/session';
import { backoffMs, pause } from './pause';
import { addressOf } from './request';

export interface Socket {
  isAway: Signal<boolean>;
  /** False: it is not connected, and nothing was sent. */
  send: (message: unknown) => boolean;
  close: () => void;
}

interface Options {
  path: string;
  /** Read before each connection. */
  query: () => Record<string, string>;
  onOpen?: () => void;
  onMessage: (message: unknown) => void;
  /** A browser does not say why a socket was refused. A GET of this path does. */
  probe: string;
  onRefused: (problem: Problem) => void;
}

function addressWith(path: string, query: Record<string, string>): string {
  const address = new URL(addressOf(path));
  address.protocol = address.protocol.replace('http', 'ws');
  address.search = new URLSearchParams({ ...query, token: session.value?.token ?? '' }).toString();
  return address.href;
}

export function openSocket({ path, query, onOpen, onMessage, probe, onRefused }: Options): Socket {
  const life = new AbortController();
  const isAway = signal(false);
  let socket: WebSocket | undefined;

  /** Resolves when the connection is over, with whether there was one. */
  function connect(): Promise<boolean> {
    return new Promise((resolve) => {
      let hasOpened = false;
      const own = new WebSocket(addressWith(path, query()));
      const end = () => {
        removeEventListener('offline', end);
        life.signal.removeEventListener('abort', end);
        own.onopen = own.onmessage = own.onclose = null;
        own.close();
        resolve(hasOpened);
      };
      socket = own;
      own.onopen = () => {
        hasOpened = true;
        isAway.value = false;
        onOpen?.();
      };
      own.onmessage = ({ data }) => onMessage(JSON.parse(String(data)));
      own.onclose = end;
      addEventListener('offline', end);
      life.signal.addEventListener('abort', end);
    });
  }

  async function isRefused(): Promise<boolean> {
    try {
      await call('GET', probe, { query: { limit: 1 }, signal: life.signal });
    } catch (error) {
      if (!(error instanceof Problem) || error.isPassing) return false;
      onRefused(error);
      return true;
    }
    return false;
  }

  async function run(): Promise<void> {
    for (let failures = 0; ; failures++) {
      const hasOpened = await connect();
      if (life.signal.aborted) return;
      if (hasOpened) failures = 0;
      else if (await isRefused()) return;
      isAway.value = true;
      await pause(backoffMs(failures), life.signal);
      if (life.signal.aborted) return;
    }
  }

  const send = (message: unknown) => {
    if (socket?.readyState !== WebSocket.OPEN) return false;
    socket.send(JSON.stringify(message));
    return true;
  };
  void run();
  return { isAway, send, close: () => life.abort() };
}
