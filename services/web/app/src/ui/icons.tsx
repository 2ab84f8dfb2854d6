// SPDX-License-Identifier: MIT
//
// icons: drawn with lines in the colour of the text. They say nothing to a screen reader: what holds one has a name.
const paths = {
  plus: 'M12 5v14M5 12h14',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 8h8v8H8z',
  menu: 'M4 7h16M4 12h16M4 17h10',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  retry: 'M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5',
  edit: 'M4 20l1-4L16.5 4.5a1.4 1.4 0 0 1 2 0l1 1a1.4 1.4 0 0 1 0 2L8 19z',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  down: 'M12 5v14M6 13l6 6 6-6',
  chevron: 'M9 6l6 6-6 6',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20c1-4 4-5.5 7-5.5s6 1.5 7 5.5',
  eye: 'M2.5 12C5 7.5 8.5 5.5 12 5.5s7 2 9.5 6.5c-2.5 4.5-6 6.5-9.5 6.5S5 16.5 2.5 12zM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  chat: 'M5 5h14a1.5 1.5 0 0 1 1.5 1.5v8A1.5 1.5 0 0 1 19 16h-7l-5 4v-4H5a1.5 1.5 0 0 1-1.5-1.5v-8A1.5 1.5 0 0 1 5 5z',
  rooms: 'M4 4.5h10A1.5 1.5 0 0 1 15.5 6v5a1.5 1.5 0 0 1-1.5 1.5H8L4.5 15v-2.5H4A1.5 1.5 0 0 1 2.5 11V6A1.5 1.5 0 0 1 4 4.5zM18.5 9H20a1.5 1.5 0 0 1 1.5 1.5v5A1.5 1.5 0 0 1 20 17h-.5v2.5L16 17h-5a1.5 1.5 0 0 1-1.4-1',
  tree: 'M9 3.5h6V8H9zM3 16h6v4.5H3zM15 16h6v4.5h-6zM12 8v4M6 16v-4h12v4',
  approve: 'M8.5 4.5H6A1.5 1.5 0 0 0 4.5 6v13A1.5 1.5 0 0 0 6 20.5h12a1.5 1.5 0 0 0 1.5-1.5V6A1.5 1.5 0 0 0 18 4.5h-2.5M8.5 3h7v3.5h-7zM8.5 13.5l2.5 2.5 4.5-5',
  bot: 'M6 8.5h12A1.5 1.5 0 0 1 19.5 10v7.5A1.5 1.5 0 0 1 18 19H6a1.5 1.5 0 0 1-1.5-1.5V10A1.5 1.5 0 0 1 6 8.5zM12 8.5V5M12 4.5h.01M9.5 13v1.5M14.5 13v1.5M2.5 12.5v3M21.5 12.5v3',
  curve: 'M4 4v16h16M7.5 15l3.5-5 3.5 3L20 6.5',
  key: 'M14.5 14a4.5 4.5 0 1 0-4.2-2.9L4 17.5V20h3v-2h2v-2h1.5l1.7-1.7a4.5 4.5 0 0 0 2.3-.3zM16 8.5h.01',
  reply: 'M9 7L4 12l5 5M4.5 12H14a6 6 0 0 1 6 6v1',
  file: 'M7 3.5h7l4.5 4.5v12a.5.5 0 0 1-.5.5H7a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 7 3.5zM13.5 3.5V9h5M9 13h6M9 16.5h4',
  upload: 'M12 16V4.5M7 9l5-5 5 5M4.5 15.5V19A1.5 1.5 0 0 0 6 20.5h12a1.5 1.5 0 0 0 1.5-1.5v-3.5',
  gauge: 'M4.2 18a9 9 0 1 1 15.6 0M12 14.5l4-5M12 16a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z',
  quote: 'M5 7h14M5 12h9M5 17h6M18.5 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM20.3 18.8L22 20.5',
  star: 'M12 4l2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.7-5 2.7 1.1-5.5L4 9.7 9.6 9z',
  warning: 'M12 4.5l8.5 15h-17zM12 10v4.5M12 17.2v.01',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}

/** The mark of Parley: a speech bubble. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="9" />
      <path d="M9 10.5A2.5 2.5 0 0 1 11.5 8h9a2.5 2.5 0 0 1 2.5 2.5v6a2.5 2.5 0 0 1-2.5 2.5H16l-4.6 4.2c-.5.5-1.4.1-1.4-.6V18.5A2.5 2.5 0 0 1 9 16.5z" />
    </svg>
  );
}
