// SPDX-License-Identifier: MIT
//
// completion: while one writes `@` and a name, or a command to the main bot, the names and commands that it may become.
import { t } from '../texts';
import { seen } from '../ui/name';

export interface Choice {
  text: string;
  note: string;
}

export interface Completion {
  /** Where in the text the word begins that is being written. */
  from: number;
  choices: Choice[];
}

const SHOWN_MAX = 6;

/** The names that begin so come before those that only contain it. */
function rank(choices: Choice[], word: string): Choice[] {
  const wanted = word.toLowerCase();
  const at = ({ text }: Choice) => text.toLowerCase().indexOf(wanted);
  const fits = choices.filter((one) => at(one) >= 0 && one.text !== word);
  return fits.sort((a, b) => Math.min(at(a), 1) - Math.min(at(b), 1)).slice(0, SHOWN_MAX);
}

export function complete(text: string, caret: number, names: Choice[]): Completion | null {
  const before = text.slice(0, caret);
  const command = /(?:^|\s)@annex[ \t]+(\/[a-z]*)$/i.exec(before)?.[1];
  const name = /(?:^|[\s(,;:])@([^\s@]{0,64})$/.exec(before)?.[1];
  const commands = Object.entries(t().rooms.commands).map(([word, note]) => ({ text: `/${word}`, note }));
  const [word, choices] = command !== undefined ? [command, rank(commands, command)] : [name, rank(names, name ?? '')];
  return word === undefined || choices.length === 0 ? null : { from: caret - word.length, choices };
}

interface Props {
  id: string;
  completion: Completion;
  at: number;
  onChoose: (choice: Choice) => void;
}

export const optionId = (id: string, i: number) => `${id}-${i}`;

export function Choices({ id, completion, at, onChoose }: Props) {
  return (
    <ul class="choices" role="listbox" id={id} aria-label={t().rooms.choices}>
      {completion.choices.map((choice, i) => (
        <li key={choice.text} id={optionId(id, i)} role="option" aria-selected={i === at} onPointerDown={(event) => event.preventDefault()} onClick={() => onChoose(choice)}>
          <bdi>{seen(choice.text)}</bdi> <span class="note">{choice.note}</span>
        </li>
      ))}
    </ul>
  );
}
