import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LockDetail, SessionView } from '../../../lib/operators/dashboard/wire';
import { connectionOf, Name, processOf, visible } from './format';
import { BASE, errorOf } from './live';

/** Asks for the name of the lock, and takes the lock from its holders. */
export function ReleaseDialog({ lock, onClose }: { lock: LockDetail; onClose: () => void }): JSX.Element {
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
      setOutcome(await send(lock.name, holders));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };

  return (
    <dialog ref={dialog} class="release" aria-labelledby="release-title" onClose={onClose}>
      <form onSubmit={(event) => void release(event)}>
        <h2 id="release-title">Release by force</h2>
        <p class="subject">
          <Name text={lock.name} />
        </p>
        {outcome === '' ? (
          <>
            {alive.length > 0 ? (
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
                {busy ? 'Releasing…' : 'Release'}
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

/** @returns the outcome, for the user */
async function send(name: string, holders: readonly string[]): Promise<string> {
  const session = await fetch(`${BASE}api/session`);
  if (!session.ok) throw new Error(await errorOf(session));
  const { token = '' } = (await session.json()) as SessionView;
  const response = await fetch(`${BASE}api/unlock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-ioredisson-token': token },
    body: JSON.stringify({ name, confirm: name, holders }),
  });
  if (!response.ok) throw new Error(await errorOf(response));
  const { released, warning } = (await response.json()) as { released: boolean; warning?: string };
  const text = released ? 'The lock is released. Who waits for it has been told.' : 'Nobody held it any more.';
  return warning === undefined ? text : `${text} ${warning}`;
}
