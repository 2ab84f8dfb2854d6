// SPDX-License-Identifier: MIT
//
// What `parley` says of mistakes on the command line: a row for each, with the exit status and words that must be in the
// message. A message says what was seen and what to do. Mistakes in requests are rows of tests/http/messages.test.mjs.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ACCOUNTS, makeFolder, runParley, startProcess, startRedis, waitForOutput, writeAccounts } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { makeAuthority } from '../support/tls.mjs';

ownShards(); // the command line: the same on any number of shards

// Files that the commands are run among.
const FILES = {
  secret: ACCOUNTS.User_1.secret,
  'engine.secret': ACCOUNTS.Inference_1.secret,
  'operator.secret': 'nobody has this one',
  empty: '',
  'a.yaml': 'accounts:\n  Front: {secret: x, role: frontend}\n  Inference_1: {secret: y, role: engine}\n',
  'no-role.yaml': 'accounts:\n  Front: {secret: x}\n',
  'role.yaml': 'accounts:\n  Front: {secret: x, role: fronted}\n',
  'member.yaml': 'accounts:\n  Front: {secret: x, role: user, max_wating: 7}\n',
  'top.yaml': 'acounts:\n  Front: {secret: x, role: user}\n',
  'broken.yaml': 'accounts: [\n',
  'key.yaml': 'listne: 127.0.0.1:8080\n',
  'value.yaml': 'threads: many\n',
  'list.yaml': 'threads: [1]\n',
  'flows.yaml': 'WORKFLOWS:\n  RULE:\n    model.first: {yes: null, no: model.frist}\nAGENTS:\n  model.first: {kind: modl}\n  tool.look: {kind: http, timout: 3}\nAGNETS: {}\n',
  'talk.jsonl': '{"from":"Ann","text":"Hi"}\n{"form":"Bob","text":"x"}\nnot json\n',
};

const SIGNED = '--user User_1 --secret-file secret';
const ONCE = '--patience-seconds 0';
const SERVE = 'serve --check-config --accounts a.yaml --redis redis://127.0.0.1:1';
const ENGINE = `engine --user Inference_1 --secret-file engine.secret --start-seconds 0 --check-config`;
const AWAY = '--redis redis://127.0.0.1:1';

// [command, exit status, words in the message...]. $name: where something is (see `before`); '' is an empty argument.
const ROWS = [
  // --- commands and their words
  ['', 2, 'usage: parley COMMAND', 'serve'],
  ['sevre', 2, "unknown command 'sevre'", 'did you mean serve?', 'parley --help'],
  ['engin', 2, "unknown command 'engin'", 'did you mean engine?'],
  ['frobnicate', 2, "unknown command 'frobnicate'", 'see parley --help'],
  ['--hlep', 2, "unknown command '--hlep'", 'did you mean --help?'],
  ['help sevre', 2, "unknown command 'sevre'", 'did you mean serve?'],
  ['serve now', 2, "serve takes flags only, not 'now'", 'parley serve --help'],
  ['serve -p 80', 2, "not '-p'", 'flags begin with two dashes'],
  ['serve --auth-sha1 maybe', 2, "not 'maybe'", 'a switch takes on or off'],
  ['engine x', 2, "engine takes flags only, not 'x'"],
  ['reindex x', 2, "reindex takes flags only, not 'x'"],
  ['servers x', 2, "servers takes flags only, not 'x'"],
  ['evaluate x', 2, "evaluate takes flags only, not 'x'"],
  ['top x', 2, "top takes flags only, not 'x'"],
  ['audit x', 2, "audit takes flags only, not 'x'"],
  ['bench x', 2, "bench takes flags only, not 'x'"],
  ['version x', 2, "version takes flags only, not 'x'"],
  ['account', 2, 'account takes list, add, remove, rotate or key'],
  ['account lsit', 2, "not 'lsit': did you mean list?"],
  ['user', 2, 'user takes usage, export or delete'],
  ['user usgae bob', 2, "not 'usgae': did you mean usage?"],
  ['recommendations lsit', 2, 'list or remove', 'did you mean list?'],
  ['workflow chekc', 2, 'check, run or shipped', 'did you mean check?'],
  ['show nodse', 2, "not 'nodse': did you mean nodes?"],
  ['show nodes claims', 2, 'show takes one word'],
  ['completion csh', 2, "bash, zsh or fish, not 'csh'"],
  ['completion bash zsh', 2, 'one shell at a time'],
  // --- flags, variables and files of settings
  ['serve --lisen x', 2, "unknown flag '--lisen'", 'did you mean --listen?', 'parley serve --help'],
  ['serve --lease_seconds=3', 2, "unknown flag '--lease_seconds'", 'did you mean --lease-seconds?'],
  ['engine --ulr x', 2, "unknown flag '--ulr'", 'did you mean --url?'],
  ['sign --methd GET', 2, "unknown flag '--methd'", 'did you mean --method?'],
  ['serve --frobnicate', 2, "unknown flag '--frobnicate'", 'parley serve --help'],
  ['serve --listen', 2, '--listen needs a value'],
  ['PARLEY_LEASE_SECOND=9 serve', 2, "'PARLEY_LEASE_SECOND' is not a setting", 'did you mean PARLEY_LEASE_SECONDS?', 'unset it'],
  ['PARLEY_FROBNICATE=9 show nodes', 2, "'PARLEY_FROBNICATE' is not a setting", 'unset it'],
  [`PARLEY_THREADS=many ${SERVE}`, 2, "--threads takes a whole number from 0 to 64, not 'many'", 'PARLEY_THREADS in the environment'],
  [`PARLEY_LISTEN=80 ${SERVE}`, 2, '--listen', 'HOST:PORT', "not '80'", 'PARLEY_LISTEN in the environment'],
  ['serve --config none.yaml', 2, 'configuration file none.yaml', 'No such file'],
  ['serve --config dir', 2, 'configuration file dir', 'Is a directory'],
  ['serve --config key.yaml', 2, 'key.yaml line 1', "unknown option 'listne'", 'did you mean listen?'],
  ['serve --config value.yaml', 2, "--threads takes a whole number from 0 to 64, not 'many'", 'in the configuration file'],
  ['serve --config list.yaml', 2, 'list.yaml line 1', 'threads takes a single plain value'],
  ['serve --config broken.yaml', 2, 'broken.yaml line'],
  ['serve --config secret', 2, "'option: value'"],
  // --- a node
  ['serve', 2, '--accounts', 'is missing', 'parley account add'],
  ['serve --accounts none.yaml', 2, '--accounts none.yaml', 'No such file'],
  ['serve --accounts dir', 2, '--accounts dir', 'Is a directory'],
  ['serve --accounts empty', 2, '--accounts empty', 'the file is empty'],
  ['serve --accounts secret', 2, '--accounts secret', "expected 'accounts:'"],
  ['serve --accounts no-role.yaml', 2, "account 'Front' has no role"],
  ['serve --accounts role.yaml', 2, 'line 2', "unknown role 'fronted'", 'did you mean frontend?'],
  ['serve --accounts member.yaml', 2, 'line 2', "unknown member 'max_wating'", 'did you mean max_waiting?'],
  ['serve --accounts top.yaml', 2, 'line 1', "unknown member 'acounts'", 'did you mean accounts?'],
  ['serve --accounts broken.yaml', 2, 'broken.yaml', 'line'],
  [`${SERVE} --listen localhost:99999`, 2, '--listen', 'HOST:PORT', "not 'localhost:99999'"],
  [`${SERVE} --listen unix:`, 2, '--listen', 'unix:/path'],
  [`${SERVE} --threads -1`, 2, '--threads takes a whole number from 0 to 64'],
  [`${SERVE} --lease-seconds 1.5`, 2, '--lease-seconds takes a whole number', "not '1.5'"],
  [`${SERVE} --log-format jsno`, 2, 'json or text', 'did you mean json?'],
  [`${SERVE} --log-level loud`, 2, 'debug, info, warn or error', "not 'loud'"],
  [`${SERVE} --durability disks`, 2, 'none, replica or disk', 'did you mean disk?'],
  [`${SERVE} --target broker,brokr`, 2, '--target', 'broker, users', "not 'brokr'", 'did you mean broker?'],
  [`${SERVE} --redis localhost`, 2, '--redis', 'redis://', "not 'localhost'"],
  [`${SERVE} --redis http://localhost`, 2, '--redis', 'redis://'],
  [`${SERVE} --redis redis+sentinel://h:1`, 2, '--redis', 'name of the master'],
  [`${SERVE} --redis-password-file none`, 2, 'secret file none', 'No such file'],
  [`${SERVE} --redis-password-file empty`, 2, 'secret file empty', 'it is empty'],
  [`${SERVE} --redis-tls-cert secret`, 2, '--redis-tls-cert', 'rediss://'],
  [`${SERVE} --shards 3`, 2, '--shards', 'power of two', "not '3'"],
  [`${SERVE} --key-prefix ${'x'.repeat(70)}`, 2, '--key-prefix', 'at most 64 bytes'],
  [`${SERVE} --tls-cert secret`, 2, '--tls-key', 'is missing'],
  [`${SERVE} --tls-cert none --tls-key none`, 2, '--tls-cert', 'none', 'No such file'],
  [`${SERVE} --tls-listen 127.0.0.1:1`, 2, '--tls-listen', 'needs --tls-cert and --tls-key'],
  [`${SERVE} --trusted-proxies 300.1.1.1`, 2, '--trusted-proxies', "'300.1.1.1' is not an address"],
  [`${SERVE} --cors-origins x`, 2, '--cors-origins', "'x' is not an origin", 'https://app.example'],
  [`${SERVE} --ca-file none`, 2, '--ca-file', 'PEM', "'none'"],
  [`${SERVE} --workflows none`, 2, '--workflows', 'none', 'No such file'],
  [`${SERVE} --workflows flows.yaml`, 2, 'flows.yaml line', 'did you mean'],
  [`${SERVE} --sql-url mysql://h/d`, 2, '--sql-url', 'sqlite:PATH or postgresql://', "'mysql://h/d'"],
  [`${SERVE} --public-url ftp://x`, 2, '--public-url', 'http:// or https://', "'ftp://x'"],
  [`${SERVE} --oidc-issuer http://x`, 2, '--oidc-issuer', '--oidc-allow-private'],
  [`${SERVE} --oidc-jwks-url x`, 2, '--oidc-jwks-url', 'https://', "'x'"],
  [`${SERVE} --embeddings nonsense`, 2, '--embeddings', 'openai:<URL>#<model>'],
  [`${SERVE} --public-collection ''`, 2, '--public-collection', '1 to 128 bytes'],
  ['serve --check-config --accounts a.yaml --redis $redis --shards 8', 1, '--shards is 8, but this cluster has 4', 'leave it out'],
  ['serve --accounts a.yaml --redis $redis --listen $place', 1, 'cannot listen on $place', 'in use'],
  // --- an engine
  ['engine', 2, '--url is missing', 'the nodes to pull from'],
  ['engine --url $dead', 2, '--user and --secret-file are missing', 'parley login'],
  ['engine --url $dead --user Inference_1', 2, '--secret-file is missing'],
  [`${ENGINE} --url 127.0.0.1:1`, 2, '--url takes http://HOST[:PORT]', 'not 127.0.0.1:1'],
  [`${ENGINE} --url $dead --llm x`, 2, '--llm takes a URL such as', "not 'x'"],
  [`${ENGINE} --url $dead --apis chats`, 2, '--apis takes auto, none, or a list', "not 'chats'"],
  [`${ENGINE} --url $dead --apis embeddings`, 2, '--apis with embeddings', '--embeddings-url'],
  [`${ENGINE} --url $dead --corpus none`, 2, '--corpus takes a folder', "not 'none'"],
  [`${ENGINE} --url $dead --embeddings $dead`, 2, '--embeddings', '--embeddings-model'],
  [`${ENGINE} --url $dead --slots 0`, 2, '--slots takes a whole number from 1 to 256'],
  [`${ENGINE} --url $dead --engine-id 'a b'`, 2, '--engine-id takes', "not 'a b'"],
  [`${ENGINE} --url $dead --secret-file none`, 2, 'secret file none', 'No such file'],
  [`${ENGINE} --url $node --user User_1`, 1, '--secret-file engine.secret', 'refused the signature of --user User_1'],
  [`${ENGINE} --url $node --user User_1 --secret-file secret`, 1, '--user User_1', 'role user', 'must be engine'],
  [`${ENGINE} --url $node --llm $dead/v1 --model m`, 1, '--llm $dead/v1', 'does not respond', 'nothing listens at'],
  // --- what answers at --url
  [`${ENGINE} --url $dead`, 1, '--url $dead', 'nothing listens at 127.0.0.1:1', 'connection refused', 'correct the address'],
  [`${ENGINE} --url http://no-such-host.invalid`, 1, 'host name no-such-host.invalid is unknown', 'DNS'],
  [`${ENGINE} --url $silent`, 1, 'did not respond in time'],
  [`${ENGINE} --url $secure`, 1, 'certificate of', 'is not accepted', '--ca-file'],
  [`${ENGINE} --url $other --ca-file ca.pem`, 1, 'certificate of', 'another name', 'host name that is in it'],
  [`${ENGINE} --url $plainly`, 1, 'HTTP without TLS', 'http:// instead of https://'],
  [`${ENGINE} --url $securely`, 1, 'takes TLS: use https:// instead of http://'],
  [`${ENGINE} --url $mute`, 1, 'closed the connection without a response', 'if it takes TLS, use https:// instead of http://'],
  [`${ENGINE} --url $noise`, 1, 'does not speak HTTP', 'if it takes TLS, use https://'],
  [`${ENGINE} --url $alien`, 1, '--url $alien', 'not a Parley node', '404'],
  [`user usage bob ${SIGNED} ${ONCE} --url $dead`, 1, 'nothing listens at 127.0.0.1:1'],
  [`user usage bob ${SIGNED} ${ONCE} --url $secure`, 1, 'is not accepted', '--ca-file'],
  [`user usage bob ${SIGNED} ${ONCE} --url $plainly`, 1, 'http:// instead of https://'],
  [`user usage bob ${SIGNED} ${ONCE} --url $securely`, 1, 'https:// instead of http://'],
  [`user usage bob ${SIGNED} ${ONCE} --url $alien`, 1, 'not a Parley node', '404'],
  [`recommendations list ${SIGNED} ${ONCE} --url $plainly`, 1, 'http:// instead of https://'],
  [`audit ${SIGNED} ${ONCE} --url http://no-such-host.invalid`, 1, 'host name no-such-host.invalid is unknown'],
  [`evaluate --run ${'0'.repeat(32)} ${SIGNED} ${ONCE} --url $secure`, 1, 'is not accepted', '--ca-file'],
  [`top --once ${SIGNED} ${ONCE} --url $dead`, 1, 'nothing listens at'],
  [`workflow run RULE x ${SIGNED} ${ONCE} --url $plainly`, 1, 'http:// instead of https://'],
  [`workflow run RULE x ${SIGNED} ${ONCE} --url $dead`, 1, 'nothing listens at'],
  // --- commands that sign
  ['user usage', 2, 'which user?'],
  [`user usage bob eve ${SIGNED}`, 2, 'one user at a time'],
  [`user usage bob ${SIGNED} --url x`, 2, '--url takes http://HOST[:PORT]'],
  [`user export bob ${SIGNED}`, 2, '-o FILE'],
  [`user export bob ${SIGNED} -o`, 2, '-o needs a value'],
  [`user delete bob ${SIGNED}`, 2, 'no', 'terminal', '--yes'],
  ['user usage bob --user User_1 --secret-file none', 1, 'secret file none', 'No such file'],
  [`user usage User_2 ${SIGNED} --url $node`, 1, '--user User_1', 'does not give this account access to the data of User_2', 'operator'],
  ['user usage bob --user User_1 --secret-file operator.secret --url $node', 1, '--secret-file operator.secret', 'unknown there or has another secret'],
  [`top --once ${SIGNED} --url $node`, 1, '--user User_1', 'operator'],
  [`top ${SIGNED}`, 2, 'no terminal', '--once'],
  [`audit --since yesterday ${SIGNED}`, 2, '--since', '30m, 24h or 7d', "not 'yesterday'"],
  ['recommendations remove', 2, 'the ids that list prints'],
  ['recommendations remove x', 2, 'such as'],
  ['recommendations list a b', 2, 'one user at most'],
  ['sign http://x/', 2, '--user and --secret-file are missing', 'parley login'],
  [`ask ${SIGNED}`, 2, 'which question?', 'standard input'],
  [`ask How long ${SIGNED}`, 2, 'one question', 'put it in quotes'],
  ['ask --public --file a.yaml x', 2, '--public excludes --file'],
  [`ask x ${SIGNED} ${ONCE} --url $plainly`, 3, 'http:// instead of https://'],
  [`sign ${SIGNED}`, 2, 'which URL?'],
  [`sign ${SIGNED} x`, 2, 'http://host/path or /path'],
  [`sign ${SIGNED} http://x/ http://y/`, 2, 'one URL at a time'],
  // --- workflows and evaluations
  ['workflow check', 2, 'workflow check FILE'],
  ['workflow check none', 1, 'none', 'No such file'],
  ['workflow check flows.yaml', 1, 'line 3', "unknown agent 'model.frist'", 'did you mean model.first?', 'line 5', "unknown kind 'modl'", 'did you mean model?', 'line 6', "unknown member 'timout'", 'did you mean timeout?', 'line 7', "unknown member 'AGNETS'", 'did you mean AGENTS?'],
  ['workflow shipped x', 2, 'usage: parley workflow shipped (see'],
  [`workflow run none.yaml RULE x ${SIGNED}`, 1, 'none.yaml', 'No such file'],
  [`workflow run RUEL x ${SIGNED} --url $node ${ONCE}`, 1, "There is no verb 'RUEL'", 'did you mean RULE?', 'GENERIC'],
  [`evaluate ${SIGNED}`, 2, '--bot takes the name of a bot'],
  [`evaluate --bot b ${SIGNED}`, 2, '--conversation takes the path'],
  [`evaluate --bot b --conversation none ${SIGNED}`, 1, 'none', 'No such file'],
  [`evaluate --bot b --conversation talk.jsonl ${SIGNED}`, 1, 'talk.jsonl:2', '`from` is missing: there is `form`', 'talk.jsonl:3', 'not JSON'],
  [`evaluate --run x ${SIGNED}`, 2, '--run takes the id'],
  [`evaluate --cancel ${SIGNED}`, 2, '--cancel needs --run'],
  [`evaluate --measure cosin ${SIGNED}`, 2, 'cosine, dot or euclidean', 'did you mean cosine?'],
  // --- accounts
  ['account list', 2, '--accounts'],
  ['account list --accounts none.yaml', 1, 'none.yaml', 'No such file'],
  ['account list Front --accounts a.yaml', 2, 'list takes no name'],
  ['account add --accounts a.yaml', 2, 'the name of one account'],
  ['account add Bob --accounts a.yaml', 2, '--role', 'frontend, user, engine or operator'],
  ['account add Bob --role fronted --accounts a.yaml', 2, 'did you mean frontend?'],
  ['account add Front --role user --accounts a.yaml', 1, "there is an account 'Front' already", 'rotate'],
  ["account add 'a b' --role user --accounts a.yaml", 1, 'white space'],
  ['account add Bob --role user --weight much --accounts a.yaml', 1, 'a.yaml: weight takes a number from 0.01 to 1000'],
  ['account add Bob --role user --secret-from none --accounts a.yaml', 1, 'secret file none', 'No such file'],
  ['account add Bob --role engine --hashed --accounts a.yaml', 1, 'engines sign'],
  ['account add Bob --role user --accounts dir', 1, 'dir', 'regular file'],
  ['account remove Frnot --accounts a.yaml', 1, "there is no account 'Frnot'", 'did you mean Front?'],
  ['account rotate Inference_2 --accounts a.yaml', 1, "there is no account 'Inference_2'", 'did you mean Inference_1?'],
  ['account rotate Front --role user --accounts a.yaml', 2, '--role', 'parley account add'],
  // --- commands that read Redis
  ['ingest', 2, '--collection is missing'],
  ["ingest --collection '' dir", 2, '--collection takes 1 to 64 bytes'],
  ['ingest --collection c', 2, 'PATH is missing'],
  [`ingest --collection c none ${AWAY}`, 2, 'none', 'No such file'],
  [`ingest --collection c secret ${AWAY}`, 2, 'secret', 'unsupported file type'],
  [`ingest --collection c --base-url x dir ${AWAY}`, 2, '--base-url takes a URL such as'],
  ['reindex --namespace a', 2, '--namespace needs --owner'],
  ['backup', 2, 'which file?'],
  ['backup a b', 2, 'one file at a time'],
  ['restore', 2, 'which file?'],
  [`restore none ${AWAY}`, 1, 'none', 'No such file'],
  [`restore secret ${AWAY}`, 1, 'secret', 'not a Parley backup'],
  [`servers ${AWAY}`, 1, 'Redis at 127.0.0.1:1/0 (--redis)', 'Connection refused', 'correct --redis'],
  ['servers --adopt 0', 2, '--adopt takes a whole number from 1'],
  [`servers --adopt 2 ${AWAY}`, 1, 'there is no server 2'],
  [`show nodes ${AWAY}`, 1, 'Redis at 127.0.0.1:1/0 (--redis)', 'Connection refused', 'correct --redis'],
  ['show nodes --node n0 --redis $redis', 1, 'no node has that id', 'parley show nodes'],
  ['show nodes --key-prefix other: --redis $redis', 1, 'no node runs on this Redis with this --key-prefix'],
  // --- files
  ['extract', 2, 'which file?'],
  ['extract none', 1, 'none', 'No such file'],
  ['extract secret', 1, 'secret', 'Unsupported file type', 'PDF'],
  ['extract dir', 1, 'dir', 'Is a directory'],
  ['bench', 2, '--accounts is missing'],
  ['bench --accounts none', 2, 'none', 'No such file'],
  ['bench --accounts a.yaml --url x', 2, '--url', 'http://'],
  ['bench --accounts a.yaml --mode inlin', 2, 'split, inline', 'did you mean inline?'],
  ['bench --accounts a.yaml --mode tokens --seconds 60 --token-rate 9000', 2, '60 s at --token-rate 9000', '2232004 bytes', 'may have 1048576', 'lower --seconds or --token-rate'],
];

// Words as a shell would split them: 'one word', and NAME=VALUE in front.
function split(line) {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
  const env = {};
  while (/^PARLEY_\w+=/.test(words[0] ?? '')) {
    const [name, value] = words.shift().split('=');
    env[name] = value;
  }
  return { env, words };
}

describe('mistakes on the command line', { concurrency: 4 }, () => {
  const folder = makeFolder();
  const stops = [];
  const at = { dead: 'http://127.0.0.1:1' };
  const expand = (text) => text.replace(/\$(\w+)/g, (_, name) => at[name]);

  async function listen(server) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sockets = new Set();
    server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
    stops.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return server.address().port;
  }

  before(async () => {
    for (const [name, text] of Object.entries(FILES)) folder.file(name, text);
    mkdirSync(join(folder.dir, 'dir'));
    const authority = makeAuthority(folder.dir);
    const { cert, key } = authority.make('node');
    const wrong = authority.make('other', { names: 'DNS:other.example' });
    const accounts = writeAccounts();
    const redis = await startRedis();
    stops.push(() => accounts.remove(), () => redis.stop());
    at.redis = redis.url;
    const serve = async (...args) => {
      const node = startProcess(['serve', '--redis', redis.url, '--accounts', accounts.path, '--listen', '127.0.0.1:0', ...args], { env: { PARLEY_SHARDS: '4' } });
      stops.push(async () => {
        node.child.kill('SIGTERM');
        await node.exit();
      });
      await waitForOutput(node, ({ stdout }) => /^parley: listening on https:\S+$/m.exec(stdout), 60_000, 'its address with TLS');
      return [...node.stdout.matchAll(/^parley: listening on (\S+)$/gm)].map(([, url]) => url);
    };
    [at.node, at.secure] = await serve('--target=all', '--tls-cert', cert, '--tls-key', key, '--tls-listen', '127.0.0.1:0');
    [at.other] = await serve('--target=web', '--tls-cert', wrong.cert, '--tls-key', wrong.key);
    at.place = at.node.replace('http://', '');
    at.plainly = at.node.replace('http://', 'https://');
    at.securely = at.secure.replace('https://', 'http://');
    at.alien = `http://127.0.0.1:${await listen(http.createServer((request, response) => response.writeHead(404).end('not here')))}`;
    at.mute = `http://127.0.0.1:${await listen(net.createServer((socket) => socket.end()))}`;
    at.noise = `http://127.0.0.1:${await listen(net.createServer((socket) => socket.end('220 mail.example ESMTP\r\n')))}`;
    at.silent = `http://127.0.0.1:${await listen(net.createServer())}`;
  });
  after(async () => {
    for (const stop of stops.reverse()) await stop();
    folder.remove();
  });

  // A busy machine answers later than a command waits that has no patience.
  const isTooSlow = (stderr, words) => / in time: /.test(stderr) && !words.some((word) => word.includes('in time'));

  for (const [line, status, ...words] of ROWS)
    it(`parley ${line}`, async () => {
      const { env, words: args } = split(expand(line));
      const run = () => runParley(args, { cwd: folder.dir, env, timeout: 60_000 });
      let said = await run();
      for (let n = 0; n < 3 && isTooSlow(said.stderr, words); n++) said = await run();
      const { code, stdout, stderr } = said;
      assert.equal(code, status, `${stdout}${stderr}`);
      assert.equal(stdout, '');
      for (const word of words) assert.ok(stderr.includes(expand(word)), `'${expand(word)}' is not in: ${stderr}`);
      if (line !== '') for (const said of stderr.trimEnd().split('\n')) assert.match(said, /^parley: \S/);
    });

  it('there are more than a hundred of them, each of another kind', () => {
    assert.ok(ROWS.length > 150, `${ROWS.length}`);
    assert.equal(new Set(ROWS.map(([line]) => line)).size, ROWS.length);
  });
});

describe('a Redis that does not answer', { concurrency: 4 }, () => {
  const accounts = writeAccounts();
  const folder = makeFolder();
  after(() => {
    accounts.remove();
    folder.remove();
  });
  const ended = async (running) => {
    running.child.kill('SIGTERM');
    return running.exit();
  };

  it('a node says at its start what it waits for, and nothing is called lost that was never there', async () => {
    const node = startProcess(['serve', '--listen', '127.0.0.1:0', '--redis', 'redis://127.0.0.1:1', '--accounts', accounts.path]);
    await waitForOutput(node, ({ stdout }) => /^parley: listening on \S+\nparley: waiting for Redis at 127\.0\.0\.1:1\/0 \(--redis\): until it is ready, requests get status 503 and \/readyz fails$/m.test(stdout), 60_000, 'what it waits for');
    assert.match(node.stderr, /redis is not connected yet .*server="127\.0\.0\.1:1\/0" .*check that Redis runs there, or correct --redis/);
    assert.doesNotMatch(node.stderr, /redis lost/);
    await ended(node);
  });

  for (const words of [['backup', 'x.parley'], ['ingest', '--collection', 'c', 'a.md'], ['reindex']])
    it(`parley ${words[0]} says at once what it waits for`, async () => {
      folder.file('a.md', '# A\n\nText.\n');
      const running = startProcess([...words, '--redis', 'redis://127.0.0.1:1'], { cwd: folder.dir });
      await waitForOutput(running, ({ stderr }) => /^parley: Redis at 127\.0\.0\.1:1\/0 \(--redis\): Connection refused\. .* \(waiting for 30 s\)$/m.test(stderr), 60_000, 'what it waits for');
      await ended(running);
    });
});
