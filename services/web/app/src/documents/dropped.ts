// SPDX-License-Identifier: MIT
//
// dropped: the files of what was dropped on the page, those in folders too.
const FILES_MAX = 1000;

const fileOf = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject));
const someOf = (reader: FileSystemDirectoryReader) => new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));

async function collect(entry: FileSystemEntry, files: File[]): Promise<void> {
  if (files.length >= FILES_MAX || entry.name.startsWith('.')) return;
  if (entry.isFile) return void files.push(await fileOf(entry as FileSystemFileEntry));
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (let some = await someOf(reader); some.length > 0; some = await someOf(reader)) for (const one of some) await collect(one, files);
}

export const hasFiles = (data: DataTransfer | null) => data?.types.includes('Files') ?? false;

export async function filesOf(data: DataTransfer): Promise<File[]> {
  // Both lists are empty as soon as the event is over.
  const plain = [...data.files];
  const entries = [...data.items].map((item) => item.webkitGetAsEntry());
  if (entries.length === 0 || entries.includes(null)) return plain;
  const files: File[] = [];
  for (const entry of entries) await collect(entry!, files);
  return files;
}
