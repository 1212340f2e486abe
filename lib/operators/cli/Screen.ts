import { fit } from './fit';
import { print } from './output';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_Z = '\u001a';

/**
 * The terminal during a live view: alternate screen, no cursor, keys read one by one. Restores the terminal however we
 * end, except on SIGKILL.
 *
 * States: entered -> left; Ctrl-Z suspends in between.
 */
export class Screen {
  readonly #onQuit: () => void;
  readonly #onContinue = (): void => this.#enter();
  #entered = false;

  /** Whether stdout is a terminal that can show a live view. */
  static isPossible(): boolean {
    return process.stdout.isTTY && process.env['TERM'] !== 'dumb';
  }

  /** @param onQuit - called for q, Escape, Ctrl-C, Ctrl-D, and when the keyboard or the terminal is gone */
  constructor(onQuit: () => void) {
    this.#onQuit = onQuit;
    process.on('exit', this.leave);
    process.on('SIGCONT', this.#onContinue);
    process.stdout.on('error', onQuit);
    const { stdin } = process;
    if (stdin.isTTY) stdin.setEncoding('utf8').on('data', this.#onKey).once('end', onQuit).once('error', onQuit);
    this.#enter();
  }

  get height(): number {
    return process.stdout.rows || 24;
  }

  get width(): number {
    return process.stdout.columns || 80;
  }

  /**
   * Shows lines, cut to the screen size. It overwrites the old frame in one write, so nothing flickers, even over a
   * slow connection.
   * @returns resolves when the frame is written
   */
  async show(lines: readonly string[]): Promise<void> {
    const shown = lines.slice(0, this.height).map((line) => fit(line, this.width) + REST_OF_LINE);
    await print(HOME + shown.join('\r\n') + REST_OF_SCREEN);
  }

  /** Restores the terminal. Idempotent. */
  readonly leave = (): void => {
    process.off('exit', this.leave);
    process.off('SIGCONT', this.#onContinue);
    this.#leave();
    if (process.stdin.isTTY) process.stdin.off('data', this.#onKey).pause();
  };

  #enter(): void {
    if (process.stdin.isTTY) process.stdin.setRawMode(true).resume();
    if (!this.#entered) process.stdout.write(ENTER);
    this.#entered = true;
  }

  #leave(): void {
    if (!this.#entered) return;
    this.#entered = false;
    process.stdout.write(LEAVE);
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
  }

  readonly #onKey = (keys: string): void => {
    const isQuit = keys === '\u001b' || [...keys].some((key) => 'qQ'.includes(key) || key === CTRL_C || key === CTRL_D);
    if (isQuit) this.#onQuit();
    else if (keys.includes(CTRL_Z)) {
      // In raw mode keys send no signals, so we handle Ctrl-Z ourselves.
      this.#leave();
      process.kill(0, 'SIGSTOP');
    }
  };
}
