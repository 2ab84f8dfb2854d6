// SPDX-License-Identifier: MIT
//
// notice: something that the status line says for a few seconds.
import { signal } from '@preact/signals';

const SHOWN_MS = 6000;
let timer: ReturnType<typeof setTimeout> | undefined;

export const notice = signal('');

export function say(text: string): void {
  clearTimeout(timer);
  notice.value = text;
  timer = setTimeout(() => (notice.value = ''), SHOWN_MS);
}
