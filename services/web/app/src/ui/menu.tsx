// SPDX-License-Identifier: MIT
//
// menu: a button with a list of actions. Arrows move in it, Escape and a click elsewhere close it.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icons';

export interface Item {
  text: string;
  icon?: IconName;
  isBad?: boolean;
  /** Of a choice: whether it is the present one. */
  isChosen?: boolean;
  href?: string;
  onChoose?: () => void;
}

interface Props {
  name: string;
  /** What the button shows. */
  children: ComponentChildren;
  class?: string;
  /** Groups, with a line between them. */
  groups: { title?: string; items: Item[] }[];
  isUp?: boolean;
  onOpen?: () => void;
}

const ITEMS = '[role^="menuitem"]';

function move(list: HTMLElement, by: number): void {
  const items = [...list.querySelectorAll<HTMLElement>(ITEMS)];
  const at = items.indexOf(document.activeElement as HTMLElement);
  items[(at + by + items.length) % items.length]?.focus();
}

function Entry({ item, close }: { item: Item; close: () => void }) {
  const inside = (
    <>
      {item.icon && <Icon name={item.icon} />}
      <span>{item.text}</span>
      {item.isChosen && <Icon name="check" />}
    </>
  );
  if (item.href !== undefined)
    return (
      <a role="menuitem" href={item.href} tabIndex={-1} target="_blank" rel="noopener" onClick={close}>
        {inside}
      </a>
    );
  const onClick = () => {
    close();
    item.onChoose?.();
  };
  return (
    <button type="button" tabIndex={-1} class={item.isBad ? 'is-bad' : ''} onClick={onClick} {...(item.isChosen === undefined ? { role: 'menuitem' } : { role: 'menuitemradio', 'aria-checked': item.isChosen })}>
      {inside}
    </button>
  );
}

export function Menu({ name, children, groups, class: more = '', isUp = false, onOpen }: Props) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useLayoutEffect(() => {
    if (!isOpen) return;
    onOpen?.();
    list.current?.querySelector<HTMLElement>(ITEMS)?.focus();
    const onElsewhere = (event: Event) => box.current?.contains(event.target as Node) || setOpen(false);
    for (const kind of ['pointerdown', 'focusin']) document.addEventListener(kind, onElsewhere);
    return () => {
      for (const kind of ['pointerdown', 'focusin']) document.removeEventListener(kind, onElsewhere);
    };
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, () => void> = { ArrowDown: () => move(list.current!, 1), ArrowUp: () => move(list.current!, -1), Escape: close };
    const step = isOpen ? steps[event.key] : undefined;
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    step();
  };
  return (
    <div class={`menu ${more} ${isOpen ? 'is-open' : ''}`} ref={box} onKeyDown={onKeyDown}>
      <button type="button" ref={button} class="button is-quiet menu-button" aria-haspopup="menu" aria-expanded={isOpen} aria-label={name} onClick={() => setOpen(!isOpen)}>
        {children}
      </button>
      {isOpen && (
        <div class={`menu-list ${isUp ? 'is-up' : ''}`} role="menu" aria-label={name} ref={list}>
          {groups.map(({ title, items }, i) => (
            <div role="group" aria-label={title} key={i}>
              {title && <p aria-hidden="true">{title}</p>}
              {items.map((item) => (
                <Entry key={item.text} item={item} close={close} />
              ))}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
