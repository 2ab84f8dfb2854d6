// SPDX-License-Identifier: MIT
import { go, place } from '../router';
import { t } from '../texts';
import { askFor } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { exportTopic } from './export';
import { deleteTopic, renameTopic, type Topic } from './topics';

const NAME_MAX = 200;

function rename({ id, name }: Topic): void {
  const words = t().topics;
  askFor({ title: words.renameTitle, field: { label: words.renameLabel, value: name, maxLength: NAME_MAX }, action: t().dialog.save, onAccept: (value) => renameTopic(id, value) });
}

function remove({ id, name }: Topic): void {
  const words = t().topics;
  const onAccept = async () => {
    await deleteTopic(id);
    if (place.value.at === 'topic' && place.value.topic === id) go({ at: 'new' }, { replaces: true });
  };
  askFor({ title: words.deleteTitle, text: words.deleteText(name), action: t().dialog.delete, isBad: true, onAccept });
}

export function TopicMenu({ topic }: { topic: Topic }) {
  const words = t().topics;
  return (
    <Menu
      name={`${words.menu}: ${topic.name}`}
      class="topic-menu"
      groups={[
        {
          items: [
            { text: words.rename, icon: 'edit', onChoose: () => rename(topic) },
            { text: words.export, icon: 'download', onChoose: () => void exportTopic(topic.id, topic.name) },
            { text: words.delete, icon: 'trash', isBad: true, onChoose: () => remove(topic) },
          ],
        },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}
