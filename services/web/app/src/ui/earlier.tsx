// SPDX-License-Identifier: MIT
import { useEffect, useRef } from 'preact/hooks';

/** Above a list that shows its end first: asks for more when it is nearly in sight. */
export function Earlier({ text, onSeen }: { text: string; onSeen: () => void }) {
  const mark = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const watcher = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && onSeen(), { rootMargin: '800px' });
    watcher.observe(mark.current!);
    return () => watcher.disconnect();
  });
  return (
    <button type="button" class="button is-quiet is-wide" ref={mark} onClick={onSeen}>
      {text}
    </button>
  );
}
