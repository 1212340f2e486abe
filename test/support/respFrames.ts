const CR = 0x0d;

/**
 * Cuts a stream of the Redis protocol (RESP2 and RESP3, both directions) into whole frames: a frame is one command or
 * one reply. Chunks of the network end anywhere, so the rest of a chunk waits for the next one.
 */
export class RespFrames {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames this chunk completes. */
  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    for (let end = frameEnd(this.#rest, 0); end !== -1; end = frameEnd(this.#rest, 0)) {
      frames.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }
}

/** Where the frame that begins at `start` ends; -1 when it is not all there yet. */
function frameEnd(buffer: Buffer, start: number): number {
  const cr = buffer.indexOf(CR, start);
  if (cr === -1 || cr + 1 >= buffer.length) return -1;
  const lineEnd = cr + 2;
  const size = Number(buffer.toString('latin1', start + 1, cr));
  switch (String.fromCharCode(buffer[start] ?? 0)) {
    case '$': // a string of `size` bytes
    case '!':
    case '=':
      return size < 0 ? lineEnd : within(buffer, lineEnd + size + 2);
    case '*': // `size` frames
    case '~':
    case '>':
      return framesEnd(buffer, lineEnd, size);
    case '%': // `size` pairs of frames
    case '|':
      return framesEnd(buffer, lineEnd, 2 * size);
    default: // a simple string, an error, a number, an inline command
      return lineEnd;
  }
}

function framesEnd(buffer: Buffer, start: number, count: number): number {
  let end = start;
  for (let i = 0; i < count && end !== -1; i++) end = frameEnd(buffer, end);
  return end;
}

function within(buffer: Buffer, end: number): number {
  return end <= buffer.length ? end : -1;
}
