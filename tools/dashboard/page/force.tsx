import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LockDetail, SessionView } from '../../../lib/operators/dashboard/wire';
import { connectionOf, Name, processOf, visible } from './format';
import { BASE, errorOf } from './live';

/** A change that the user wants. */
export type Act =
  | { readonly action: 'forceUnlock' }
  | { readonly action: 'addPermits'; readonly permits: number }
  | { readonly action: 'releasePermit'; readonly permitId: string }
  | { readonly action: 'openLatch' };

interface ForceDialogProps {
  /** As the user saw it when deciding. */
  readonly lock: LockDetail;
  readonly action: Act;
  readonly onClose: () => void;
}

/** Asks for the name of the object, and changes it whoever has it. */
export function ForceDialog({ lock, action, onClose }: ForceDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, type] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [outcome, setOutcome] = useState('');
  // The holders that the user saw when deciding: a later holder keeps the lock.
  const [holders] = useState(() => lock.holders.map(({ owner }) => owner));
  const isRight = typed === lock.name || typed === visible(lock.name);
  const alive = lock.holders.filter((holder) => ['connected', 'silent'].includes(connectionOf(holder)));
  useEffect(() => dialog.current?.showModal(), []);

  const release = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!isRight || busy) return;
    setBusy(true);
    setProblem('');
    try {
      setOutcome(await send(lock.name, action, holders));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };

  return (
    <dialog ref={dialog} class="release" aria-labelledby="release-title" onClose={onClose}>
      <form onSubmit={(event) => void release(event)}>
        <h2 id="release-title">{titleOf(action)}</h2>
        <p class="subject">
          <Name text={lock.name} />
        </p>
        {outcome === '' ? (
          <>
            {action.action !== 'forceUnlock' ? (
              <p class="warning">{warningOf(action)}</p>
            ) : alive.length > 0 ? (
              <p class="warning">
                <b>Its holder is connected</b> ({processOf(alive[0]!)}). It is not asked, and may go on as if it had the
                lock until its next renewal. Two may be inside at once.
              </p>
            ) : (
              <p>
                Make sure that its holder is gone: it is not asked. If it is alive, it may go on as if it had the lock,
                and two are inside at once.
              </p>
            )}
            <label for="release-name">Type the name of the lock</label>
            <input
              id="release-name"
              value={typed}
              onInput={(event) => type(event.currentTarget.value)}
              placeholder={visible(lock.name)}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
            />
            <p class="problem" role="alert">
              {problem}
            </p>
            <div class="buttons">
              <button type="button" onClick={() => dialog.current?.close()}>
                Cancel
              </button>
              <button type="submit" class="danger" disabled={!isRight || busy}>
                {busy ? 'Working…' : buttonOf(action)}
              </button>
            </div>
          </>
        ) : (
          <>
            <p role="status">{outcome}</p>
            <div class="buttons">
              <button type="button" onClick={() => dialog.current?.close()}>
                Close
              </button>
            </div>
          </>
        )}
      </form>
    </dialog>
  );
}

function titleOf(act: Act): string {
  switch (act.action) {
    case 'forceUnlock':
      return 'Release by force';
    case 'addPermits':
      return `Add ${act.permits} ${act.permits === 1 ? 'permit' : 'permits'} by force`;
    case 'releasePermit':
      return `Give permit ${act.permitId.slice(0, 8)}… back by force`;
    case 'openLatch':
      return 'Open by force';
  }
}

function buttonOf({ action }: Act): string {
  return { forceUnlock: 'Release', addPermits: 'Add', releasePermit: 'Give back', openLatch: 'Open' }[action];
}

function warningOf({ action }: Act): string {
  return action === 'openLatch'
    ? 'Nobody who still counts down is asked. Those who wait go on.'
    : 'Nobody who has a permit is asked, and it may go on: then more are inside at once than should be.';
}

interface Done {
  readonly released?: boolean;
  readonly changed?: boolean;
  readonly warning?: string;
}

function outcomeOf({ action }: Act, { released = false, changed = false }: Done): string {
  switch (action) {
    case 'forceUnlock':
      return released ? 'The lock is released. Who waits for it has been told.' : 'Nobody held it any more.';
    case 'addPermits':
      return 'The permits are there. Who waits for them has been told.';
    case 'releasePermit':
      return 'The permit is back. Who waits for one has been told.';
    case 'openLatch':
      return changed ? 'The latch is open. Who waits for it has been told.' : 'It was open.';
  }
}

/** @returns the outcome, for the user */
async function send(name: string, act: Act, holders: readonly string[]): Promise<string> {
  const session = await fetch(`${BASE}api/session`);
  if (!session.ok) throw new Error(await errorOf(session));
  const { token = '' } = (await session.json()) as SessionView;
  const isUnlock = act.action === 'forceUnlock';
  const response = await fetch(`${BASE}${isUnlock ? 'api/unlock' : 'api/remedy'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-ioredisson-token': token },
    body: JSON.stringify({ name, confirm: name, ...(isUnlock ? { holders } : act) }),
  });
  if (!response.ok) throw new Error(await errorOf(response));
  const done = (await response.json()) as Done;
  const text = outcomeOf(act, done);
  return done.warning === undefined ? text : `${text} ${done.warning}`;
}
