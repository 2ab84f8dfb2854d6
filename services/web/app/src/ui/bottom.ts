// SPDX-License-Identifier: MIT
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

const NEAR_PX = 80;

/** Keeps a box scrolled to its bottom while its content grows, unless one has scrolled up; and scrolls down when `jumps` change. */
export function useBottom(jumps: unknown[]) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isKept = useRef(true);
  const [isAway, setAway] = useState(false);
  const toBottom = () => {
    isKept.current = true;
    setAway(false);
    box.current!.scrollTop = box.current!.scrollHeight;
  };
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    isKept.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    setAway(!isKept.current);
  };
  useLayoutEffect(toBottom, jumps);
  useEffect(() => {
    const watcher = new ResizeObserver(() => isKept.current && toBottom());
    watcher.observe(content.current!);
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  return { box, content, isAway, toBottom, onScroll };
}
