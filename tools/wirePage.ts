import { answerChannel, clientChannel } from '../lib/introspection/wire';
import { ALL_KINDS, scriptsOf } from '../lib/kinds/allKinds';
import type { Kind, LockDescriptor } from '../lib/kinds/Kind';
import { ownerName } from '../lib/kinds/reentrant';
import { messagesOf, type ReleasedWire, scriptText, shortHash, wireChanges, wireScripts } from './wire';

/** The name of an object, as the page writes it. */
const NAME = 'name';

/**
 * docs/wire.md.
 *
 * @param released - that of the previous package
 * @param previous - what the previous package is called
 */
export function wirePage(released: ReleasedWire, previous: string, wire: ReleasedWire): string {
  const changes = wireChanges(released.parts, wire.parts);
  return `# The wire

All that processes with different versions of this package must agree on: scripts, keys, channels and messages. Java's
Redisson shares most of it ([interop.md](interop.md)). \`npm run docs:wire\` writes this page from the descriptors in
\`lib/kinds\`; do not edit it.

**Wire ${wire.version}**, hash \`${wire.hash}\`. The version is one higher than that of the previous package if the hash
differs. Comments and white space in a script do not count, nor does its name.

## Rolling upgrades

During a rolling upgrade processes of two versions share every lock. CHANGELOG.md has an entry for each change of the
wire, which says what a rolling upgrade may do; \`npm test\` fails without it. \`test/package/previous.test.ts\` runs the
previous package and this one side by side on one server: every kind, each as the holder and as the waiter.

The previous package is ${previous}, with wire ${released.version}, hash \`${released.hash}\`. ${changed(changes)}

To mend a failing test after a change of the wire:

\`\`\`bash
npm run docs:wire -- --upgrade "A rolling upgrade may ..." # writes this page and the entry in CHANGELOG.md
npm run docs:wire -- --same                                # the text of the entry still holds: only its hash is new
\`\`\`

## Kinds

\`${NAME}\` is the name of the object, after the name mapper. A name with a \`{\` of its own gets no more braces
(\`redisson_lock__channel:a{b}c\`), except in the channel of a latch. The owner stands in the channel of a waiter for a
fair lock, and in the keys of a reader.

| kind | data of \`${NAME}\` | owner | other keys | channel | messages |
| --- | --- | --- | --- | --- | --- |
${ALL_KINDS.filter((kind) => scriptsOf(kind).length > 0)
  .map(kindRow)
  .join('\n')}

The messages of semaphores are numbers of permits, which their scripts make.

## Between clients

| what | where |
| --- | --- |
| questions of an inspector to a client | \`${clientChannel('<client id>')}\` |
| its answer, as JSON | \`${answerChannel('<uuid>')}\` |
| a ticket of \`detach()\` | hash \`${wire.parts['ticket']}\` (text, and the owner that it makes) |
| fields of questions and answers | hash \`${wire.parts['questions to a client']}\` |

## Scripts

\`npm run scripts:print -- <name>\` shows one as Redis gets it.

| script | keys | arguments | hash |
| --- | --- | --- | --- |
${wireScripts()
  .map((script) => {
    const { name, realKeys, args, channels } = script;
    return row([name, list(realKeys), list([...args, ...channels]), code(shortHash(scriptText(script)))]);
  })
  .join('\n')}
`;
}

function changed(changes: readonly string[]): string {
  if (changes.length === 0) return 'Nothing has changed since.';
  return `Since then (\`+\` new, \`-\` gone,\n\`~\` changed):\n\n${changes.map((one) => `- \`${one}\``).join('\n')}`;
}

const DATA: Readonly<Record<Kind['data'], string>> = {
  owners: 'hash: owner -> holds',
  values: 'hash: owner and value -> holds',
  mode: 'hash: `mode`, and owner -> holds',
  number: 'number',
};

function kindRow(kind: Kind): string {
  const { ownerOf = ownerName, waitOrder } = kind as Partial<LockDescriptor>;
  const owner = waitOrder === undefined ? '' : ownerOf('<client>', 1).replace(':1', ':<thread>');
  const keys = Object.entries(kind.keysOf(NAME, owner)).filter(
    ([role, key]) => !role.startsWith('channel') && role !== 'keyPrefix' && key !== NAME,
  );
  const channel = kind.channelOf?.(NAME, owner);
  return row([
    kind.name,
    DATA[kind.data],
    code(owner),
    list(keys.map(([role, key]) => (role.endsWith('Prefix') ? `${key}:<hold>` : key))),
    code(channel),
    list(messagesOf(kind)),
  ]);
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function list(names: readonly string[]): string {
  return names.map(code).join(', ');
}

function code(text: string | undefined): string {
  return text === undefined || text === '' ? '' : `\`${text}\``;
}
