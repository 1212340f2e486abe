import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  HolderView,
  LockDetail,
  LockEvent,
  OwnerView,
  QueuedView,
  SessionView,
} from '../../../lib/operators/dashboard/wire';
import { adviceOf, runbookOf } from '../../../lib/operators/inspection/advice';
import {
  Badge,
  clock,
  colorOf,
  connectionOf,
  count,
  kindOf,
  LeaseBar,
  Name,
  processOf,
  silentSince,
  span,
  useClock,
  visible,
  zone,
} from './format';
import { HeldFor, valueOf } from './list';
import { type Act, ForceDialog } from './force';

interface DetailProps {
  readonly name: string;
  /** `undefined`: not loaded yet; `null`: nothing has that name. */
  readonly lock: LockDetail | null | undefined;
  /** `undefined`: not loaded yet. */
  readonly session: SessionView | undefined;
  readonly stale: boolean;
  /** The problems of Redis or of this page: on a phone the detail covers the banner of the page. */
  readonly trouble: JSX.Element;
  readonly onClose: () => void;
}

/** A longer name scrolls. */
const LONG_NAME = 400;

/** All details of one lock. */
export function Detail({ name, lock, session, stale, trouble, onClose }: DetailProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  // Keyboard users continue here.
  useEffect(() => heading.current?.focus(), [name]);
  // Here and not beside its button: what was done stays readable when the lock is gone, and its button with it.
  const [asked, act] = useState<{ readonly lock: LockDetail; readonly action: Act } | undefined>(undefined);
  return (
    <aside class={stale ? 'detail stale' : 'detail'} aria-label="Lock">
      <div class="banner-place">{trouble}</div>
      <header>
        <h2 ref={heading} tabIndex={name.length > LONG_NAME ? 0 : -1} class={name.length > LONG_NAME ? 'long' : ''}>
          <Name text={name} />
        </h2>
        <button type="button" class="quiet close" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {session !== undefined && <Place target={session.target} stale={stale} />}
      {lock === undefined && (
        <p class="muted" role="status">
          Looking…
        </p>
      )}
      {lock === null && (
        <section class="verdict v-free">
          <strong>Nothing by that name</strong>
          <p>Nobody holds a lock of this name now, and nobody waits for it.</p>
        </section>
      )}
      {lock && <Body lock={lock} session={session} act={(action) => act({ lock, action })} />}
      {asked !== undefined && <ForceDialog {...asked} onClose={() => act(undefined)} />}
    </aside>
  );
}

/** The time of the data, and the server: on a phone the detail covers the header of the page. */
function Place({ target, stale }: { target: SessionView['target']; stale: boolean }): JSX.Element {
  const now = useClock(1_000);
  const { label, server, database } = target;
  return (
    <p class="place-line">
      <span class="server">
        {label !== undefined && <b>{visible(label)} · </b>}
        <code>{visible(server)}</code>, database {database}.{' '}
      </span>
      {stale ? 'Not up to date. Times are ' : `As of ${clock(now)} `}
      {zone(now)}.
    </p>
  );
}

interface BodyProps {
  readonly lock: LockDetail;
  readonly session: SessionView | undefined;
  /** Asks the user to confirm a change. */
  readonly act: (action: Act) => void;
}

function Body({ lock, session, act }: BodyProps): JSX.Element {
  const now = useClock(250);
  const value = valueOf(lock);
  const { verdict } = lock;
  return (
    <>
      <section class={`verdict ${colorOf(lock)}`} aria-label="Verdict">
        <Badge lock={lock} now={now} />
        {silentSince(lock) !== undefined && <code class="code">{verdict.kind}</code>}
        <p>
          <Sentence lock={lock} now={now} />
        </p>
        <Advice lock={lock} runbook={session?.runbook} />
      </section>
      {lock.expiresAt !== null && (
        <section aria-label="Lease">
          <p class="muted">{leaseTitle(lock)}</p>
          <LeaseBar lock={lock} now={now} large />
        </section>
      )}
      <dl class="facts">
        <Fact label="Kind">{kindOf(lock)}</Fact>
        {lock.heldSince !== undefined && (
          <Fact label="Held for">
            <HeldFor lock={lock} now={now} />{' '}
            <span class="muted">
              {lock.exact ? 'since' : 'at least: first seen'} {clock(lock.heldSince)}
            </span>
          </Fact>
        )}
        <Fact label="Waiters">
          {lock.waiters === 0 ? 'Nobody waits' : count(lock.waiters)}
          {lock.waitedSince !== undefined && (
            <span class="muted">
              {lock.waiters === 1 ? ' for ' : ', the longest for '}
              {lock.waiting === undefined && 'at least '}
              {span(now - lock.waitedSince)}
            </span>
          )}
        </Fact>
        {value !== '' && <Fact label={lock.actions.includes('openLatch') ? 'Latch' : 'Permits'}>{value}</Fact>}
        {lock.token !== undefined && (
          <Fact label="Fencing token">
            <code>{lock.token}</code>
          </Fact>
        )}
        {visible(lock.key) !== visible(lock.name) && (
          <Fact label="Key">
            {lock.key.length > LONG_NAME ? (
              <div class="long" tabIndex={0} role="group" aria-label="Key">
                <Name text={lock.key} />
              </div>
            ) : (
              <Name text={lock.key} />
            )}
          </Fact>
        )}
      </dl>
      {lock.circle !== undefined && <Circle circle={lock.circle} now={now} />}
      {lock.holders.length > 0 && (
        <Part title={holdersTitle(lock)} size={lock.holderCount}>
          <ul class="owners">
            {lock.holders.map((holder) => (
              <li key={holder.owner}>
                <HolderCard holder={holder} now={now} />
              </li>
            ))}
          </ul>
          <More shown={lock.holders.length} all={lock.holderCount} />
        </Part>
      )}
      {lock.waiting !== undefined && lock.waiting.length > 0 && <Waiting waiting={lock.waiting} now={now} />}
      {lock.queue !== undefined && lock.queue.length > 0 && (
        <Part title="Queue, in order" size={lock.waiters}>
          <ol class="owners queue">
            {lock.queue.map((waiter, i) => (
              <li key={waiter.owner}>
                <QueuedCard waiter={waiter} place={i + 1} now={now} />
              </li>
            ))}
          </ol>
          <More shown={lock.queue.length} all={lock.waiters} />
        </Part>
      )}
      {lock.permits !== undefined && lock.permits.length > 0 && (
        <Part title="Permits that are out" size={lock.acquired ?? lock.permits.length}>
          <ul class="permits">
            {lock.permits.map(({ id, endsAt }) => (
              <li key={id}>
                <code>{id}</code> <span class="number">{endsAt === null ? 'no lease' : span(endsAt - now)}</span>
              </li>
            ))}
          </ul>
          <More shown={lock.permits.length} all={lock.acquired ?? lock.permits.length} />
        </Part>
      )}
      <Forced lock={lock} session={session} act={act} />
      <Part title="Events" size={lock.events.length}>
        {lock.events.length === 0 ? (
          <p class="muted">This page has seen nothing happen to it yet.</p>
        ) : (
          <Events events={lock.events} />
        )}
      </Part>
    </>
  );
}

/** What to do, with a link to the runbook. */
function Advice({ lock, runbook }: { lock: LockDetail; runbook: string | undefined }): JSX.Element | null {
  const { kind } = lock.verdict;
  const advice = adviceOf(lock, kind, lock.circle);
  if (advice === '') return null;
  return (
    <p>
      {advice}{' '}
      {runbook !== undefined && (
        <a href={runbook + runbookOf(lock, kind)} target="_blank" rel="noreferrer">
          What to do
        </a>
      )}
    </p>
  );
}

/** A time span as the server writes it. */
const TIME = String.raw`[\d.]+ [smhd](?: \d+ [smh])?`;
const ENDS = new RegExp(` in ${TIME}, at \\S+Z`);
const HELD = new RegExp(`^Held for ${TIME} by`);
const WAITED = new RegExp(`has waited for ${TIME}(?=[.,])`);
const ANSWERED = new RegExp(`not answered (?:for ${TIME}|within 2 s):`);
const SILENT = new RegExp(`silent for ${TIME}`);

/** Lets the time spans in the server's sentence run on, like all others on the page. */
function Sentence({ lock, now }: { lock: LockDetail; now: number }): JSX.Element {
  const { verdict, heldSince = now, waitedSince = now } = lock;
  const { endsAt, kind } = verdict;
  const sentence = verdict.sentence
    .replace(HELD, `Held for ${span(now - heldSince)} by`)
    .replace(WAITED, `has waited for ${span(now - waitedSince)}`)
    .replace(SILENT, `silent for ${span(now - (silentSince(lock) ?? now))}`)
    .replace(ANSWERED, `not answered for ${span(now - (silentSince(lock) ?? now))}:`);
  const [before, after] = sentence.split(ENDS);
  if (endsAt === undefined || before === undefined || after === undefined) return <>{sentence}</>;
  const end = `in ${span(endsAt - now)}`;
  // Otherwise the lock ends then only if something goes wrong: the time deserves no emphasis.
  const isExpected = kind === 'holder-gone' || kind === 'not-renewed';
  return (
    <>
      {before} {isExpected ? <b class="ends-at">{end}</b> : end}, at {clock(endsAt)}
      {after}
    </>
  );
}

/** The title of the bar: a bar that gets shorter does not mean that the lock will end. */
function leaseTitle({ holders }: LockDetail): string {
  const renewed = holders.length > 0 && holders.every(({ hold }) => hold?.leaseMs === -1);
  return renewed ? 'Lease left; its holder renews it' : 'Lease left';
}

function holdersTitle({ kind, mode, holderCount }: LockDetail): string {
  if (kind === 'readWrite') return mode === 'read' ? 'Readers' : 'Writer';
  return holderCount === 1 ? 'Holder' : 'Holders';
}

function Part({ title, size, children }: { title: string; size: number; children: ComponentChildren }): JSX.Element {
  return (
    <section class="part">
      <h3>
        {title} {size > 1 && <span class="size">{count(size)}</span>}
      </h3>
      {children}
    </section>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function More({ shown, all }: { shown: number; all: number }): JSX.Element | null {
  return all > shown ? <p class="muted">and {count(all - shown)} more; ioredisson inspect shows all</p> : null;
}

const UNKNOWN = {
  denied: 'Whether it is connected is not known: this user of Redis may not ask for CLIENT LIST.',
  java: 'Probably a Java client: its connections do not tell which they are.',
  unnamed: 'Whether it is connected is not known: some connections have no name.',
  'other-names': 'Whether it is connected is not known: some connections have names of their own.',
  ambiguous: 'Several processes claim this client id.',
  'just-changed': 'It has only just changed: looking again.',
  detached: 'No process has it: its ticket has not been attached yet, or its work has ended (run --at-least).',
  foreign: 'This owner is not in the format of Redisson.',
} as const;

function Process({ owner, now }: { owner: OwnerView; now: number }): JSX.Element {
  const { process } = owner;
  const state = connectionOf(owner);
  return (
    <>
      <p class="process-line">
        <span class={`dot ${state}`} aria-hidden="true" />
        <b class="process">{processOf(owner)}</b>
        <span class={`connection ${state}`}>
          {(state === 'connected' || state === 'silent') &&
            (process.connectedSince === undefined
              ? 'connected'
              : `connected for ${span(now - process.connectedSince)}`)}
          {state === 'gone' && 'not connected'}
          {state === 'unknown' && 'connection unknown'}
        </span>
      </p>
      {process.connected === 'unknown' && process.unknownBecause !== undefined && (
        <p class="muted why">{UNKNOWN[process.unknownBecause]}</p>
      )}
      <p class="owner">
        {process.address !== undefined && <span class="address">from {process.address}</span>}
        owner <code>{visible(owner.owner)}</code>
      </p>
    </>
  );
}

function HolderCard({ holder, now }: { holder: HolderView; now: number }): JSX.Element {
  return (
    <>
      <Process owner={holder} now={now} />
      <p class="muted">
        {holder.mode === 'write' ? 'writes, ' : ''}
        {holder.mode === 'read' ? 'reads, ' : ''}
        {holder.holdCount === 1 ? '1 hold' : `${count(holder.holdCount)} holds`}
        {holder.endsAt?.map((at, i) => (
          <span key={i}>{at === null ? ', no expiry' : `, lease ends in ${span(at - now)}`}</span>
        ))}
        {holder.hold !== undefined && `, ${heldText(holder.hold)}`}
      </p>
      {holder.callSite !== undefined && (
        <p class="call-site">
          taken at <code>{visible(holder.callSite)}</code>
        </p>
      )}
      {holder.waitsFor !== undefined && (
        <p class="waits-for">
          waits itself for <Name text={holder.waitsFor.name} />, for {span(now - holder.waitsFor.since)}
        </p>
      )}
      {holder.silent && (
        <p class="silent">
          Has not answered{holder.silentSince !== undefined && ` for ${span(now - holder.silentSince)}`}: it is frozen,
          or its event loop is busy.
        </p>
      )}
    </>
  );
}

/** What its client reports: how the hold is kept alive, and how late the process's event loop is. */
function heldText({ leaseMs, renewals, delayMs }: NonNullable<HolderView['hold']>): string {
  const times = `${count(renewals)} ${renewals === 1 ? 'time' : 'times'}`;
  const kept = leaseMs === null ? 'no lease' : leaseMs === -1 ? `renewed ${times}` : `lease of ${span(leaseMs)}`;
  return `${kept}, event loop ${delayMs < 50 ? 'on time' : `${span(delayMs)} late`}`;
}

function Waiting({ waiting, now }: { waiting: NonNullable<LockDetail['waiting']>; now: number }): JSX.Element {
  return (
    <Part title={waiting.length === 1 ? 'Who waits' : 'Who waits, by process'} size={waiting.length}>
      <ul class="owners">
        {waiting.map(({ clientId, host, pid, callers, since, callSite }) => (
          <li key={`${clientId} ${since}`}>
            <p class="process-line">
              <b class="process">
                {visible(host)} · {pid}
              </b>
              <span>
                {callers === 1 ? '1 caller' : `${count(callers)} callers`}, for {span(now - since)}
              </span>
            </p>
            {callSite !== undefined && (
              <p class="call-site">
                at <code>{visible(callSite)}</code>
              </p>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Circle({ circle, now }: { circle: NonNullable<LockDetail['circle']>; now: number }): JSX.Element {
  return (
    <Part title={circle.length === 1 ? 'It waits for itself' : 'Who waits for whom'} size={0}>
      <ol class="owners circle">
        {circle.map(({ name, owner, host, pid, waitsFor, since, callSite }) => (
          <li key={owner}>
            <p class="process-line">
              <b class="process">
                {visible(host)} · {pid}
              </b>
              <CircleText names={[name, waitsFor]} waited={span(now - since)} isAlone={circle.length === 1} />
            </p>
            {callSite !== undefined && (
              <p class="call-site">
                waits at <code>{visible(callSite)}</code>
              </p>
            )}
          </li>
        ))}
      </ol>
    </Part>
  );
}

/** A holder of a part of a group that waits for another part has the same name twice. */
function CircleText(props: { names: readonly [string, string]; waited: string; isAlone: boolean }): JSX.Element {
  const { names, waited, isAlone } = props;
  const [has, wants] = names;
  if (has === wants && !isAlone) {
    return (
      <span>
        has some values of <Name text={has} />, and has waited {waited} for others of it
      </span>
    );
  }
  return (
    <span>
      has <Name text={has} />, and has waited {waited} for {has === wants ? 'it itself' : <Name text={wants} />}
    </span>
  );
}

function QueuedCard({ waiter, place, now }: { waiter: QueuedView; place: number; now: number }): JSX.Element {
  const kept = waiter.keptUntil;
  return (
    <div class="place">
      <span class="nth">{place}</span>
      <div>
        <Process owner={waiter} now={now} />
        <p class="muted">
          {waiter.listening ? 'listens for the release' : 'does not listen: it may have gone'}
          {kept !== null && (kept > now ? `, place kept for ${span(kept - now)}` : ', place is over')}
        </p>
      </div>
    </div>
  );
}

/** Times in the server's texts are UTC; the page shows local time. */
const UTC = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

function Events({ events }: { events: readonly LockEvent[] }): JSX.Element {
  const sources = { process: 'this process', seen: 'seen', page: 'from a page' } as const;
  return (
    <ol class="events">
      {events.map(({ at, source, level, text, owner }, i) => (
        <li key={`${at} ${events.length - i}`} class={level}>
          <time dateTime={new Date(at).toISOString()}>{clock(at)}</time>
          <span class="text">
            {visible(text).replace(UTC, (utc) => clock(Date.parse(utc)))}
            {owner !== undefined && <code> {visible(shortOwner(owner))}</code>}
          </span>
          <span class="source">{sources[source]}</span>
        </li>
      ))}
    </ol>
  );
}

/** The beginning of the client id is enough to distinguish clients. */
function shortOwner(owner: string): string {
  return owner.replace(/^([0-9a-f]{8})-[0-9a-f-]{27}/, '$1…');
}

/** Verdicts where no holder may be left to release the lock. */
const MAY_BE_RELEASED: readonly LockDetail['verdict']['kind'][] = ['holder-gone', 'no-expiry'];

/**
 * What can be done by force, as the server says. It is shown openly only if there is a reason: a user in a hurry clicks
 * what is at hand.
 */
function Forced({ lock, session, act }: BodyProps): JSX.Element | null {
  const { actions, holders, verdict } = lock;
  const isLock = actions.includes('forceUnlock');
  if (actions.length === 0 || (isLock && holders.length === 0)) return null;
  const way = isLock ? (
    <ReleaseWay lock={lock} session={session} act={act} />
  ) : (
    <RemedyWay lock={lock} session={session} act={act} />
  );
  if (MAY_BE_RELEASED.includes(verdict.kind)) {
    return (
      <Part title="Release it by force" size={0}>
        {way}
      </Part>
    );
  }
  const what = isLock
    ? 'release it by force'
    : actions.includes('addPermits')
      ? 'give permits back by force'
      : 'open it by force';
  return (
    <section class="part">
      <details class="must">
        <summary>If you must: {what}</summary>
        {way}
      </details>
    </section>
  );
}

function ReleaseWay({ lock, session, act }: BodyProps): JSX.Element {
  const isPartial = lock.holderCount > lock.holders.length;
  return (
    <>
      <p class="warning">
        Its holder is neither asked nor stopped: if it is alive, it goes on, and two are inside at once. Make sure first
        that it has ended.
      </p>
      {session?.readOnly !== false || isPartial ? (
        <Shell
          why={isPartial ? 'It has more holders than are shown.' : 'This page is read-only.'}
          commands={[`ioredisson unlock --force ${placeOf(session)} ${quoted(lock.name)}`]}
        />
      ) : (
        <Button text="Release by force…" onClick={() => act({ action: 'forceUnlock' })} />
      )}
    </>
  );
}

/** Permits that do not come back, a latch that nobody counts down any more. */
function RemedyWay({ lock, session, act }: BodyProps): JSX.Element {
  const { actions, name, permits = [] } = lock;
  const [wanted, want] = useState(1);
  const [id, choose] = useState('');
  const command = (verb: string, option: string): string =>
    `ioredisson ${verb} ${option} --force ${placeOf(session)} ${quoted(name)}`;
  const adds = actions.includes('addPermits');
  const releases = actions.includes('releasePermit') && permits.length > 0;
  const opens = actions.includes('openLatch');
  const warning = (
    <p class="warning">
      {adds &&
        'Whoever has a permit is neither asked nor stopped: if it is alive, more are inside at once than should be. '}
      {opens && 'Whoever still counts down is not asked: those who wait go on before it is done. '}
      Make sure first that no process that uses it is left.
    </p>
  );
  if (session?.readOnly !== false) {
    const commands = [
      ...(adds ? [command('permits', '--add 1')] : []),
      ...(releases ? [command('permits', `--release ${permits[0]!.id}`)] : []),
      ...(opens ? [command('latch', '--open')] : []),
    ];
    return (
      <>
        {warning}
        <Shell why="This page is read-only." commands={commands} />
      </>
    );
  }
  return (
    <>
      {warning}
      {adds && (
        <p class="remedy">
          <label>
            Permits{' '}
            <input
              type="number"
              min={1}
              step={1}
              value={wanted}
              onInput={(event) => want(Math.max(1, Math.floor(Number(event.currentTarget.value)) || 1))}
            />
          </label>{' '}
          <Button text="Add by force…" onClick={() => act({ action: 'addPermits', permits: wanted })} />
        </p>
      )}
      {releases && (
        <p class="remedy">
          <select
            aria-label="Permit"
            value={id || permits[0]!.id}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {permits.map((one) => (
              <option key={one.id} value={one.id}>
                {one.id}
              </option>
            ))}
          </select>{' '}
          <Button
            text="Give back by force…"
            onClick={() => act({ action: 'releasePermit', permitId: id || permits[0]!.id })}
          />
        </p>
      )}
      {opens && (
        <p>
          <Button text="Open by force…" onClick={() => act({ action: 'openLatch' })} />
        </p>
      )}
    </>
  );
}

function Button({ text, onClick }: { text: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="danger" onClick={onClick}>
      {text}
    </button>
  );
}

/** The same from a shell. */
function Shell({ why, commands }: { why: string; commands: readonly string[] }): JSX.Element {
  return (
    <>
      <p class="muted">{why} From a shell, with the password of this user where it has one:</p>
      {commands.map((command) => (
        <pre key={command} class="command" tabIndex={0} aria-label="Command">
          {command}
        </pre>
      ))}
    </>
  );
}

/** Which Redis, as options of a command. */
function placeOf(session: SessionView | undefined): string {
  const url = session?.target.url;
  return url === undefined ? '--config <redisson.yaml>' : `--url ${quoted(url)}`;
}

/** Quotes a name for a shell. */
function quoted(name: string): string {
  if (/^[\w@%+=:,./-]+$/.test(name) && !name.startsWith('-')) return name;
  return visible(name) === name ? `${name.startsWith('-') ? '-- ' : ''}'${name.replace(/'/g, `'\\''`)}'` : '<name>';
}
