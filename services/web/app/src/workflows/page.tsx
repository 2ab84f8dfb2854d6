// SPDX-License-Identifier: MIT
//
// page: workflows: a new run, or the one that the address names by its session and its request.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import '../style/workflows.css';
import { go, pageAt } from '../router';
import { Problem } from '../session/session';
import { t } from '../texts';
import { Frame, Head } from '../ui/frame';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import type { PageProps } from '../ui/navigation';
import { prepareRun } from './run';
import { RunView } from './run_view';
import { forgetRuns, RunsList } from './runs_list';
import { TreeView } from './tree_view';
import { loadTrees, trees } from './trees';
import { WordsBox } from './words_box';

/** The verb by which the node finds one itself. */
const GENERIC = 'GENERIC';
const verb = signal(GENERIC);

function VerbMenu() {
  const words = t().workflows;
  const names = [GENERIC, ...Object.keys(trees.value?.workflows ?? {})];
  const textOf = (name: string) => (name === GENERIC ? words.generic : name);
  return (
    <Menu name={`${words.verb}: ${textOf(verb.value)}`} class="model" isUp groups={[{ items: names.map((name) => ({ text: textOf(name), isChosen: name === verb.value, onChoose: () => void (verb.value = name) })) }]}>
      <span>{textOf(verb.value)}</span> <Icon name="chevron" />
    </Menu>
  );
}

function Drawing() {
  const all = trees.value;
  const tree = all?.workflows[verb.value];
  const root = all?.roots[verb.value];
  if (!tree || !root) return null;
  return (
    <div class="drawing" tabIndex={0} role="region" aria-label={t().workflows.tree}>
      <TreeView verb={verb.value} tree={tree} root={root} steps={[]} />
    </div>
  );
}

function NewRun() {
  const words = t().workflows;
  const [fault, setFault] = useState('');
  useEffect(() => {
    loadTrees().catch((error: unknown) => setFault(error instanceof Problem ? error.detail : t().signIn.unreachable));
  }, []);
  const start = (text: string) => {
    const { session, id } = prepareRun({ verb: verb.value, text });
    go(pageAt('workflows', session, id));
    return true;
  };
  return (
    <Frame title={t().pages.workflows} head={<Head title="" />} list={<RunsList />} class="is-new">
      <div class="scroller">
        <div class="welcome is-run">
          <h1>{words.welcome}</h1>
          <p>{words.welcomeNote}</p>
        </div>
        {fault && (
          <p class="fault" role="alert">
            {t().unexpected(fault)}
          </p>
        )}
      </div>
      <div class="foot">
        <WordsBox label={words.request} placeholder={words.placeholder} note={t().composer.hint} isFocused onSend={start}>
          <VerbMenu />
        </WordsBox>
        <Drawing />
      </div>
    </Frame>
  );
}

export function WorkflowsPage({ session, words }: PageProps) {
  const [run, id = run] = words;
  useEffect(() => forgetRuns, [session.user]);
  return run && id ? <RunView key={`${run} ${id}`} session={run} id={id} /> : <NewRun />;
}
