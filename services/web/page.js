// SPDX-License-Identifier: MIT
// Makes the examples of a handbook page ready to paste: a button to copy each, and this node's address in place of the
// usual one. The page says the same without it.
'use strict';
(() => {
  const USUAL = 'http://127.0.0.1:8080';
  const base = location.origin + location.pathname.replace(/\/handbook.*/, '');
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.parentElement.closest('code') && text.data.includes(USUAL)) text.data = text.data.replaceAll(USUAL, base);
  }

  // Pages over plain HTTP have no clipboard, but may copy what is selected.
  const copySelected = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand('copy');
  };
  for (const code of document.querySelectorAll('pre > code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      const isDone = navigator.clipboard ? await navigator.clipboard.writeText(code.textContent).then(() => true, () => false) : copySelected(code);
      button.textContent = isDone ? 'Copied' : 'Select the text to copy it';
    });
    const frame = document.createElement('div');
    frame.className = 'example';
    code.parentElement.before(frame);
    frame.append(code.parentElement, button);
  }
})();
