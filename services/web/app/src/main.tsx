// SPDX-License-Identifier: MIT
import { render } from 'preact';
import './style/base.css';
import './style/parts.css';
import './style/sheet.css';
import './style/sign_in.css';
import './style/frame.css';
import './style/chat.css';
import './style/markdown.css';
import { App } from './app';
import { takeCode } from './router';
import { startSession } from './session/session';
import { loadTexts } from './texts';
import { startTheme } from './ui/theme';

startTheme();
const code = takeCode();
startSession();
void loadTexts().then(() => render(<App code={code} />, document.getElementById('app')!));
