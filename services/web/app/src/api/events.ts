// SPDX-License-Identifier: MIT
//
// events: server-sent events out of a response that is read while it comes. EventSource cannot do it: it sends no Authorization.

/** No response has come, or not all of it: the network or the node is away. */
export class Unreachable extends Error {}

export interface ServerEvent {
  name: string;
  /** '': it has none. */
  id: string;
  data: unknown;
}

/** Nodes send a comment every 15 seconds; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;

function readEvent(block: string): ServerEvent | undefined {
  let [name, id, data] = ['message', '', ''];
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice(7);
    else if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('data: ')) data += line.slice(6);
  }
  return data === '' ? undefined : { name, id, data: JSON.parse(data) };
}

/** Throws Unreachable when the connection breaks or falls silent; ends when the node ends it. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const timer = setTimeout(() => void reader.cancel().catch(() => {}), SILENCE_MS);
      const { done, value } = await reader.read().catch(() => {
        throw new Unreachable();
      });
      clearTimeout(timer);
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const event = readEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
