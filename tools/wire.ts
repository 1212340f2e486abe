import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { answerChannel, clientChannel } from '../lib/introspection/wire';
import { ALL_KINDS, scriptsOf } from '../lib/kinds/allKinds';
import type { Kind, LockDescriptor } from '../lib/kinds/Kind';
import { CHANGED_MESSAGE, ZERO_MESSAGE } from '../lib/synchronizers/countDownLatch';
import { UNLOCK_MESSAGE } from '../lib/kinds/reentrant';
import { ownerName } from '../lib/kinds/reentrant';
import { ticketOwnerId, ticketText } from '../lib/util/ticket';
import { projectRoot } from './buildOutput';
import { stateEntry, type StateEntry } from './changelog';
import { luaTokens } from './luaTokens';
import type { AnyScript } from './scripts';

/** The names that the page is made with: one without braces, and one with. */
const NAMES = ['name', 'a{b}c'];
const CLIENT = '<client id>';

/** All that processes of different versions have to agree on, by part: `script lock.acquire`, `kind fair`. */
export type WireParts = Readonly<Record<string, string>>;

/** What is known of the wire of a released version. */
export interface ReleasedWire {
  /** 1, 2, ...: one more for each release with another hash. */
  readonly version: number;
  readonly hash: string;
  /** The hash of each part. */
  readonly parts: WireParts;
}

/** The wire of this state of lib/, each part as a text. */
export function wireTexts(): WireParts {
  const parts: Record<string, string> = {};
  for (const script of wireScripts()) parts[`script ${script.name}`] = scriptText(script);
  for (const kind of ALL_KINDS) parts[`kind ${kind.name}`] = JSON.stringify(NAMES.map((name) => kindText(kind, name)));
  const ticket = { kind: 'lock', name: 'name', leaseMs: 1, database: '0', servers: 'servers', secret: 'secret' };
  parts['ticket'] = JSON.stringify([ticketText(ticket), ticketOwnerId(ticket, 'name')]);
  parts['questions to a client'] = JSON.stringify([clientChannel('id'), answerChannel('id'), introspectionTypes()]);
  return parts;
}

/** The same with a hash for each part, and one over all. */
export function hashWire(texts: WireParts): Omit<ReleasedWire, 'version'> {
  const entries = Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = Object.fromEntries(entries.map(([part, text]) => [part, shortHash(text)]));
  // The name of a script is ours alone.
  const all = entries.map(([part, text]) => (part.startsWith('script ') ? text : `${part} ${text}`));
  return { hash: hashOf(JSON.stringify([...new Set(all)].sort())).slice(0, 12), parts };
}

/** The wire of this state, with the version that it would be released as. */
export function currentWire(released: ReleasedWire, texts = wireTexts()): ReleasedWire {
  const wire = hashWire(texts);
  return { version: wire.hash === released.hash ? released.version : released.version + 1, ...wire };
}

/** What differs between two: `+` is new, `-` is gone, `~` is another. */
export function wireChanges(before: WireParts, now: WireParts): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names.flatMap((name) => {
    if (before[name] === now[name]) return [];
    return [`${before[name] === undefined ? '+' : now[name] === undefined ? '-' : '~'} ${name}`];
  });
}

/** The entry of the changelog that a wire of another hash needs. */
export function wireEntry({ version, hash }: ReleasedWire, text: string): StateEntry {
  return { label: `Wire ${version}`, hash, text };
}

/**
 * What forbids to release this wire, a line each, with what mends it; empty: nothing.
 *
 * @param page - docs/wire.md
 * @param expected - what it should be
 */
export function wireProblems(
  released: ReleasedWire,
  wire: ReleasedWire,
  { page, expected, changelog }: { readonly page: string; readonly expected: string; readonly changelog: string },
): string[] {
  const problems: string[] = [];
  if (page !== expected) problems.push('docs/wire.md is not that of lib/: run `npm run docs:wire`');
  if (wire.hash === released.hash) return problems;
  const changes = wireChanges(released.parts, wire.parts).join(', ');
  const entry = stateEntry(changelog, 'Wire');
  const { label, hash } = wireEntry(wire, '');
  const how = 'run `npm run docs:wire -- --upgrade "A rolling upgrade may ..."`';
  if (entry === undefined) {
    problems.push(
      `CHANGELOG.md has no entry "**${label}** (\`${hash}\`): ..." under "Unreleased"; ${how} (${changes})`,
    );
  } else if (entry.label !== label || entry.hash !== hash) {
    problems.push(
      `CHANGELOG.md: the entry "${entry.label}" is of another wire (\`${entry.hash}\`, now \`${hash}\`); ${how}, ` +
        `or, if its text still holds, \`npm run docs:wire -- --same\` (${changes})`,
    );
  } else if (!/\brolling upgrade\b/i.test(entry.text)) {
    problems.push(`CHANGELOG.md: the entry "${label}" does not say what a rolling upgrade may do; ${how}`);
  }
  return problems;
}

/** All scripts that clients send, each once. */
export function wireScripts(): AnyScript[] {
  const scripts = new Set(ALL_KINDS.flatMap((kind) => scriptsOf(kind) as readonly AnyScript[]));
  return [...scripts].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What counts of a script. */
export function scriptText({ realKeys, args, channels, lua }: AnyScript): string {
  return JSON.stringify([realKeys, [...args, ...channels], luaTokens(lua)]);
}

/** What a kind has in Redis under a name. */
export function kindText(kind: Kind, name: string): Readonly<Record<string, unknown>> {
  const { ownerOf = ownerName, waitOrder } = kind as Partial<LockDescriptor>;
  const owner = waitOrder === undefined ? '' : ownerOf(CLIENT, 1);
  return {
    data: kind.data,
    owner,
    keys: Object.entries(kind.keysOf(name, owner)),
    channel: kind.channelOf?.(name, owner),
    messages: messagesOf(kind),
    scripts: (scriptsOf(kind) as readonly AnyScript[]).map((script) => shortHash(scriptText(script))).sort(),
  };
}

/** The messages of a kind that its scripts get as an argument. */
export function messagesOf(kind: Kind): string[] {
  if (kind.channelOf === undefined) return [];
  if (kind.name === 'latch') return [ZERO_MESSAGE, CHANGED_MESSAGE];
  const takesMessage = (scriptsOf(kind) as readonly AnyScript[]).some(({ args }) => args.includes('message'));
  return takesMessage ? [(kind as Partial<LockDescriptor>).message ?? UNLOCK_MESSAGE] : [];
}

/** The shapes of questions and answers, without comments. */
function introspectionTypes(): string {
  const file = path.join(projectRoot, 'lib', 'introspection', 'wire.ts');
  const source = ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022);
  const printer = ts.createPrinter({ removeComments: true });
  const interfaces = source.statements.filter((one) => ts.isInterfaceDeclaration(one));
  return interfaces.map((one) => printer.printNode(ts.EmitHint.Unspecified, one, source)).join('\n');
}

/** What the page shows of a part. */
export function shortHash(text: string): string {
  return hashOf(text).slice(0, 8);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
