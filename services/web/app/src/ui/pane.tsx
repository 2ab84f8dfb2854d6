// SPDX-License-Identifier: MIT
//
// pane: something beside what one reads, at the right; on a phone it is over the page. It gives the focus back when it is closed.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../texts';
import { Icon } from './icons';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Pane({ title, onClose, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    return () => opener?.isConnected && opener.focus();
  }, []);
  useEffect(() => heading.current?.focus(), [title]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    onClose();
  };
  return (
    <section class="pane" aria-label={title} onKeyDown={onKeyDown}>
      <header class="pane-head">
        <h2 ref={heading} tabIndex={-1} dir="auto" title={title}>
          {title}
        </h2>
        <button type="button" class="button is-quiet is-icon" aria-label={t().dialog.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </section>
  );
}
