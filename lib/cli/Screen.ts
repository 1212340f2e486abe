const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/**
 * The terminal while a live view is shown: its second screen, without a cursor, keys read one by one. Left as it was
 * found, however we end short of SIGKILL.
 *
 * States: entered -> left.
 */
export class Screen {
  readonly #onQuit: () => void;
  readonly #onKey = (key: string): void => this.#read(key);
  readonly #onExit = (): void => this.leave();
  #entered = true;

  /** @param onQuit - called for q, Escape, Ctrl-C, Ctrl-D, and when the keyboard is gone */
  constructor(onQuit: () => void) {
    this.#onQuit = onQuit;
    process.on('exit', this.#onExit);
    process.stdout.write(ENTER);
    const { stdin } = process;
    if (!stdin.isTTY) return;
    stdin.setRawMode(true).setEncoding('utf8').on('data', this.#onKey).once('end', onQuit).resume();
  }

  get height(): number {
    return process.stdout.rows || 24;
  }

  get width(): number {
    return process.stdout.columns || 80;
  }

  /** Shows lines, cut to the screen. One write, over what is there: nothing flickers, also over a slow connection. */
  show(lines: readonly string[]): void {
    const shown = lines.slice(0, this.height).map((line) => line.slice(0, this.width) + REST_OF_LINE);
    process.stdout.write(HOME + shown.join('\r\n') + REST_OF_SCREEN);
  }

  /** Gives the terminal back. Idempotent. */
  leave(): void {
    if (!this.#entered) return;
    this.#entered = false;
    process.off('exit', this.#onExit);
    process.stdout.write(LEAVE);
    const { stdin } = process;
    if (stdin.isTTY) stdin.off('data', this.#onKey).setRawMode(false).pause();
  }

  #read(keys: string): void {
    const isQuit = keys === '\u001b' || [...keys].some((key) => 'qQ'.includes(key) || key === CTRL_C || key === CTRL_D);
    if (isQuit) this.#onQuit();
  }
}
