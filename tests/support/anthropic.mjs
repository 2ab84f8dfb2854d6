// SPDX-License-Identifier: MIT
//
// anthropic: the events of Anthropic's interface, as engines and model servers that serve it send them.

export const messageStart = (more = {}) => ({
  type: 'message_start',
  message: { id: 'msg_engine', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 5, output_tokens: 1 }, ...more },
});
export const blockStart = (index, content_block) => ({ type: 'content_block_start', index, content_block });
export const blockDelta = (index, delta) => ({ type: 'content_block_delta', index, delta });
export const blockStop = (index) => ({ type: 'content_block_stop', index });
export const messageDelta = (delta, usage) => ({ type: 'message_delta', delta, usage });

// A block of text, in these pieces.
export const textEvents = (...pieces) => [
  blockStart(0, { type: 'text', text: '' }),
  ...pieces.map((text) => blockDelta(0, { type: 'text_delta', text })),
  blockStop(0),
];
