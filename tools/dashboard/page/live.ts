import type {
  HealthView,
  LockDetail,
  LockRow,
  StreamMessages,
  WindowHead,
} from '../../../lib/operators/dashboard/wire';
import type { View } from './view';

/** The base path of the dashboard, even if a proxy has removed its trailing slash. */
export const BASE = location.pathname.replace(/\/*$/, '/');

/** The data of the page. */
export interface Live {
  /** `live`: gets every change. `lost`: the page's server does not answer. `refused`: it no longer grants access. */
  readonly connection: 'loading' | 'live' | 'lost' | 'refused';
  readonly connectionNote: string;
  readonly health: HealthView | undefined;
  readonly head: WindowHead | undefined;
  readonly rows: readonly LockRow[];
  /** The lock shown in full; `undefined`: not loaded yet; `lock: null`: nothing has that name. */
  readonly lock: { readonly name: string; readonly lock: LockDetail | null } | undefined;
  /** The view that {@link rows} belong to. */
  readonly shown: string;
  /** When the last message came, by the browser's clock. */
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

/** The server's clock minus the browser's, in ms. */
let offset = 0;

/** The present time by the server's clock. */
export function serverNow(): number {
  return Date.now() + offset;
}

/** The query parameters of a view's stream. */
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

/** Rows per page. */
export const PAGE = 50;
/** A hidden page closes its stream after this time, in ms. */
const HIDDEN_MS = 20_000;
/** Pause between two attempts to reach the server, in ms: the first, and the longest. */
const RETRY_MS = [1_000, 15_000] as const;

/** The stream of a view. Reconnects by itself when it is lost. Rests while the page is hidden. */
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
      // The browser would reconnect by itself, but not after a status other than 200.
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
      // The note says so already.
    }
    if (this.#closed) return;
    // A stream that has merely ended reconnects at once, without a note.
    if (note !== '') this.#update((live) => ({ ...live, connection, connectionNote: note }));
    this.#retry = setTimeout(() => this.#open(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, RETRY_MS[1]);
  }
}

/** Merges changed rows into the list, in the given order. */
function merged(
  before: readonly LockRow[],
  fresh: readonly LockRow[],
  order: readonly string[] | undefined,
): readonly LockRow[] {
  const rows = new Map([...before, ...fresh].map((row) => [row.name, row]));
  return (order ?? before.map(({ name }) => name)).flatMap((name) => rows.get(name) ?? []);
}

/** The error message of an answer. */
export async function errorOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error?: string };
    if (typeof error === 'string') return error;
  } catch {
    // Not one of our answers: a proxy's.
  }
  return `The server answers ${response.status} ${response.statusText}`.trim();
}
