// SPDX-License-Identifier: MIT
//
// upload_file: one file to the node. fetch does not say how much of a body has been sent, so this is an XMLHttpRequest.
import { addressOf } from '../api/request';
import { call, onBehalf, Problem, session, Unreachable } from '../session/session';

export interface Uploaded {
  documentId: string;
  filename: string;
  /** The same bytes were there already. */
  duplicate?: boolean;
}

function problemOf(request: XMLHttpRequest): Problem {
  const body = (request.response ?? {}) as { code?: string; detail?: string };
  return new Problem(request.status, body.code ?? '', body.detail ?? request.statusText, Number(request.getResponseHeader('retry-after')) || 0);
}

/** Throws Problem, Unreachable, or what `signal` was aborted with. */
export function uploadFile(file: File, onProgress: (share: number) => void, signal: AbortSignal): Promise<Uploaded> {
  const body = new FormData();
  body.append('file', file);
  const request = new XMLHttpRequest();
  request.open('POST', addressOf(`api/docs/upload?${new URLSearchParams(onBehalf())}`));
  request.responseType = 'json';
  request.setRequestHeader('Accept', 'application/json');
  request.setRequestHeader('Authorization', `Bearer ${session.value?.token}`);
  request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
  return new Promise((resolve, reject) => {
    request.onload = () => {
      if (request.status < 400) return resolve(request.response as Uploaded);
      // Ends the session if it is over, as with every other request.
      if (request.status === 401) void call('GET', 'api/me').catch(() => {});
      reject(problemOf(request));
    };
    request.onerror = () => reject(new Unreachable());
    request.onabort = () => reject(signal.reason);
    signal.addEventListener('abort', () => request.abort());
    request.send(body);
  });
}
