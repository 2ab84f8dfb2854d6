// SPDX-License-Identifier: MIT
//
// navigation: the pages of the app, and the links to them. A page is a chunk of its own, which is loaded when it is opened first.
import type { ComponentType } from 'preact';
import { hrefOf, pageAt, place, type Place } from '../router';
import type { Role, Session } from '../session/session';
import { t } from '../texts';
import type { Texts } from '../texts/en';
import { Icon, type IconName } from './icons';

export interface PageProps {
  session: Session;
  /** What follows the page's name in the address. */
  words: string[];
}

interface Page {
  icon: IconName;
  roles: Role[];
  load: () => Promise<ComponentType<PageProps>>;
}

export const ASKING: Role[] = ['user', 'frontend'];

export type PageName = Exclude<keyof Texts['pages'], 'chat' | 'failed'>;

/** In the order in which they are shown. */
export const pages: Partial<Record<PageName, Page>> = {
  documents: { icon: 'file', roles: ASKING, load: async () => (await import('../documents/page')).DocumentsPage },
  rooms: { icon: 'rooms', roles: ASKING, load: async () => (await import('../rooms/page')).RoomsPage },
  workflows: { icon: 'tree', roles: ASKING, load: async () => (await import('../workflows/page')).WorkflowsPage },
  approvals: { icon: 'approve', roles: [...ASKING, 'operator'], load: async () => (await import('../workflows/approvals_page')).ApprovalsPage },
  operations: { icon: 'gauge', roles: ['operator'], load: async () => (await import('../operations/page')).OperationsPage },
};
const names = Object.keys(pages) as PageName[];

export const nameOfPage = (where: Place): PageName | undefined => (where.at === 'page' ? names.find((name) => name === where.page) : undefined);

function Entry({ to, icon, text, isCurrent, onChosen }: { to: Place; icon: IconName; text: string; isCurrent: boolean; onChosen: () => void }) {
  return (
    <li class={isCurrent ? 'is-current' : ''}>
      <a href={hrefOf(to)} aria-current={isCurrent ? 'page' : undefined} onClick={onChosen}>
        <Icon name={icon} /> {text}
      </a>
    </li>
  );
}

export function Navigation({ role, onChosen }: { role: Role; onChosen: () => void }) {
  const current = nameOfPage(place.value) ?? (ASKING.includes(role) ? undefined : 'operations');
  const words = t().pages;
  return (
    <ul class="pages">
      {ASKING.includes(role) && <Entry to={{ at: 'new' }} icon="chat" text={words.chat} isCurrent={!current} onChosen={onChosen} />}
      {names
        .filter((name) => pages[name]!.roles.includes(role))
        .map((name) => (
          <Entry key={name} to={pageAt(name)} icon={pages[name]!.icon} text={words[name]} isCurrent={name === current} onChosen={onChosen} />
        ))}
    </ul>
  );
}
