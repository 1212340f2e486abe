import type {
  HealthView,
  LockDetail,
  LockRow,
  StreamMessages,
  WindowHead,
} from '../../../lib/operators/dashboard/wire';
import type { View } from './view';

/** Where the dashboard is: also when a proxy has taken the slash off. */
export const BASE = location.pathname.replace(/\/*$/, '/');

/** What the page knows. */
export interface Live {
  /** `live`: told of every change. `lost`: the server of the page does not answer. `refused`: it lets us in no more. */
  readonly connection: 'loading' | 'live' | 'lost' | 'refused';
  readonly connectionNote: string;
  readonly health: HealthView | undefined;
  readonly head: WindowHead | undefined;
  readonly rows: readonly LockRow[];
  /** What the lock that is shown in full is; `undefined`: not known yet; `null`: there is nothing by that name. */
  readonly lock: { readonly name: string; readonly lock: LockDetail | null } | undefined;
  /** The view that {@link rows} are of. */
  readonly shown: string;
  /** When we were told something last, by our clock. */
  readonly heardAt: number;
}

export const NOTHING: Live = {
  connection: 'loading',
  connectionNote: '',
  health: undefined,
  head: undefined,
  rows: [],
  lock: undefined,
  shown: '',
  heardAt: 0,
};

/** The clock of the server less ours. */
let offset = 0;

/** What time it is for the server. */
export function serverNow(): number {
  return Date.now() + offset;
}

/** What a stream is asked for. */
export function paramsOf(view: View): string {
  const params = new URLSearchParams({
    sort: view.sort,
    state: view.state,
    offset: String(view.page * PAGE),
    limit: String(PAGE),
  });
  if (view.search !== '') params.set('search', view.search);
  if (view.kind !== '') params.set('kind', view.kind);
  return params.toString();
}

/** Lines of a page. */
export const PAGE = 50;
/** A page that nobody sees asks for nothing after this, in ms. */
const HIDDEN_MS = 20_000;
/** Between two attempts to reach the server, in ms: the first, and the longest. */
const RETRY_MS = [1_000, 15_000] as const;

/** The stream of a view. Comes back by itself when it is lost. Rests while nobody sees the page. */
export class LiveStream {
  readonly #params: string;
  readonly #name: string | undefined;
  readonly #update: (change: (live: Live) => Live) => void;
  #source: EventSource | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #hidden: ReturnType<typeof setTimeout> | undefined;
  #pause: number = RETRY_MS[0];
  #closed = false;

  constructor(params: string, name: string | undefined, update: (change: (live: Live) => Live) => void) {
    this.#params = params;
    this.#name = name;
    this.#update = update;
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#open();
  }

  close(): void {
    this.#closed = true;
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearTimeout(this.#retry);
    clearTimeout(this.#hidden);
    this.#source?.close();
  }

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hidden);
    if (document.visibilityState === 'hidden') {
      this.#hidden = setTimeout(() => {
        this.#source?.close();
        this.#source = undefined;
      }, HIDDEN_MS);
    } else if (this.#source === undefined) this.#open();
  };

  #open(): void {
    if (this.#closed) return;
    clearTimeout(this.#retry);
    const name = this.#name === undefined ? '' : `&name=${encodeURIComponent(this.#name)}`;
    const source = new EventSource(`${BASE}api/stream?${this.#params}${name}`);
    this.#source = source;
    this.#on(source, 'health', (health) => this.#update((live) => ({ ...live, health })));
    this.#on(source, 'window', ({ rows, ...head }) =>
      this.#update((live) => ({ ...live, head, rows, shown: this.#params })),
    );
    this.#on(source, 'change', ({ rows, order, ...head }) =>
      this.#update((live) => ({ ...live, head, rows: merged(live.rows, rows, order) })),
    );
    this.#on(source, 'lock', (lock) => this.#update((live) => ({ ...live, lock })));
    source.onerror = () => {
      // The browser would come back by itself, but not after an answer other than 200.
      source.close();
      if (this.#source === source) void this.#lost();
    };
  }

  #on<K extends keyof StreamMessages>(source: EventSource, event: K, take: (data: StreamMessages[K]) => void): void {
    source.addEventListener(event, (message) => {
      if (this.#source !== source) return;
      const data = JSON.parse((message as MessageEvent<string>).data) as StreamMessages[K];
      offset = data.now - Date.now();
      this.#pause = RETRY_MS[0];
      this.#update((live) => ({ ...live, connection: 'live', connectionNote: '', heardAt: Date.now() }));
      take(data);
    });
  }

  async #lost(): Promise<void> {
    let connection: Live['connection'] = 'lost';
    let note = 'The server of this page does not answer. Trying again.';
    try {
      const response = await fetch(`${BASE}api/session`, { headers: { accept: 'application/json' } });
      if (!response.ok) {
        if (response.status === 401 || response.status === 403) connection = 'refused';
        note = await errorOf(response);
      } else note = '';
    } catch {
      // It is as the note says.
    }
    if (this.#closed) return;
    // A stream that has merely ended comes back at once, and says nothing.
    if (note !== '') this.#update((live) => ({ ...live, connection, connectionNote: note }));
    this.#retry = setTimeout(() => this.#open(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, RETRY_MS[1]);
  }
}

/** Rows with what is new in them, in the order that is told. */
function merged(
  before: readonly LockRow[],
  fresh: readonly LockRow[],
  order: readonly string[] | undefined,
): readonly LockRow[] {
  const rows = new Map([...before, ...fresh].map((row) => [row.name, row]));
  return (order ?? before.map(({ name }) => name)).flatMap((name) => rows.get(name) ?? []);
}

/** What an answer says is wrong. */
export async function errorOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error?: string };
    if (typeof error === 'string') return error;
  } catch {
    // Not one of ours: a proxy's.
  }
  return `The server answers ${response.status} ${response.statusText}`.trim();
}
