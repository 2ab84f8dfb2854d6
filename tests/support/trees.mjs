// SPDX-License-Identifier: MIT
//
// trees: workflows files for tests: the shape of the shipped ones, without a database and with agents that
// do not wait long.
const agent = (name, members) => `  ${name}: {kind: model, prompt: "Decide.", timeout: 30.0, retryable: true, retries: 2${members ? `, ${members}` : ''}}`;

// RULE: first → second → third; CONTENT: first → third. `members`: agent → more YAML of its entry, after a comma.
export function shortTrees(members = {}) {
  const names = ['model.first', 'model.second', 'model.third'];
  const chain = (list) => list.map((name, i) => `    ${name}: {yes: ${list[i + 1] ?? 'null'}, no: sendMessageToChat}`).join('\n');
  return `WORKFLOWS:
  RULE:
${chain(names)}
  CONTENT:
${chain(['model.first', 'model.third'])}
AGENTS:
${names.map((name) => agent(name, members[name])).join('\n')}
`;
}
