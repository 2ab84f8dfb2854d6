// SPDX-License-Identifier: MIT
import { useLayoutEffect, useRef } from 'preact/hooks';

/** A textarea that is as high as its text. */
export function useGrowing(text: string) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const area = field.current!;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [text]);
  return field;
}

/** Enter sends, except while letters are composed; Shift and Enter begin a line. */
export const isSending = (event: KeyboardEvent) => event.key === 'Enter' && !event.shiftKey && !event.isComposing;
