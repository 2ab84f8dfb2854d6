// SPDX-License-Identifier: MIT
//
// page: what operators see: the state of the cluster, its queue, and what was done to it.
//   #/operations                  the state
//   #/operations/queue[/STATE]    questions that are Open, Pending or Failed
//   #/operations/usage            what accounts have used
//   #/operations/audit            the audit log
import { useEffect } from 'preact/hooks';
import { pageAt } from '../router';
import { t } from '../texts';
import { Frame, Head } from '../ui/frame';
import type { PageProps } from '../ui/navigation';
import { Tabs } from '../ui/tabs';
import { AuditView } from './audit_view';
import './operations.css';
import { isQueueState, QueueView } from './queue_view';
import { StateView } from './state_view';
import { isAway, status, watchStatus } from './status';
import { UsageView } from './usage_view';

const PARTS = {
  queue: (state: string) => <QueueView state={isQueueState(state) ? state : 'Open'} />,
  usage: () => <UsageView />,
  audit: () => <AuditView />,
};
type Part = keyof typeof PARTS;
const isPart = (word: string | undefined): word is Part => word !== undefined && Object.hasOwn(PARTS, word);

export function OperationsPage({ session, words: [part, state = 'Open'] }: PageProps) {
  const words = t().operations;
  useEffect(watchStatus, [session.user]);
  const tabs = [
    { text: words.state, to: pageAt('operations'), isCurrent: !isPart(part) },
    { text: words.queue, to: pageAt('operations', 'queue'), isCurrent: part === 'queue', count: status.value?.Depth ?? undefined },
    { text: words.usage, to: pageAt('operations', 'usage'), isCurrent: part === 'usage' },
    { text: words.audit, to: pageAt('operations', 'audit'), isCurrent: part === 'audit' },
  ];
  const head = (
    <Head title={t().pages.operations}>
      <Tabs name={t().pages.operations} tabs={tabs} />
    </Head>
  );
  return (
    <Frame title={t().pages.operations} head={head} list={null}>
      <div class="scroller" tabIndex={0} role="region" aria-label={t().pages.operations}>
        <div class="operations">
          <p class="fault" role="status">
            {isAway.value ? words.away : ''}
          </p>
          {isPart(part) ? PARTS[part](state) : <StateView />}
        </div>
      </div>
    </Frame>
  );
}
