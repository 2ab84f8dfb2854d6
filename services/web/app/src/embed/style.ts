// SPDX-License-Identifier: MIT
//
// The style of the box. It takes font and colours from the page, and the accent from its accent-color.
export const style = `
:host { display: block; max-width: 42rem; margin: 1rem 0; }
[role=log]:empty { display: none; }
.question { margin: 1rem 0 0.25rem; font-weight: 600; overflow-wrap: anywhere; }
.answer { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.5; }
.answer.is-fault { font-style: italic; }
.sources { white-space: normal; margin: 0.5rem 0; padding-inline-start: 1.75rem; font-size: 0.875em; }
a { color: inherit; }
[role=status] { margin: 0.5rem 0; font-size: 0.875em; min-height: 1.25em; }
form { display: flex; gap: 0.5rem; align-items: end; }
textarea { flex: 1; min-width: 0; box-sizing: border-box; padding: 0.5rem 0.75rem; border: 1px solid currentColor; border-radius: 0.75rem; background: transparent; color: inherit; font: inherit; resize: vertical; }
button { padding: 0.5rem 1rem; border: 1px solid currentColor; border-radius: 0.75rem; background: transparent; color: inherit; font: inherit; cursor: pointer; }
button:disabled { cursor: default; opacity: 0.6; }
`;
