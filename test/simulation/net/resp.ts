import { RedisError, type Reply, Status } from '../../../lib/testing/store/replies';

/** Reads commands (arrays of bulk strings) from what arrives in pieces. Everything is text of bytes (latin1). */
export class RequestParser {
  #text = '';

  /** @returns the commands that are complete */
  read(text: string): string[][] {
    this.#text += text;
    const commands: string[][] = [];
    let at = 0;
    for (;;) {
      const command = this.#command(at);
      if (command === undefined) break;
      commands.push(command.words);
      at = command.end;
    }
    this.#text = this.#text.slice(at);
    return commands;
  }

  #command(from: number): { words: string[]; end: number } | undefined {
    const text = this.#text;
    let at = text.indexOf('\r\n', from);
    if (at < 0) return undefined;
    const count = Number(text.slice(from + 1, at));
    at += 2;
    const words: string[] = [];
    for (let i = 0; i < count; i++) {
      const end = text.indexOf('\r\n', at);
      if (end < 0) return undefined;
      const length = Number(text.slice(at + 1, end));
      at = end + 2;
      if (at + length + 2 > text.length) return undefined;
      words.push(text.slice(at, at + length));
      at += length + 2;
    }
    return { words, end: at };
  }
}

/** A reply as RESP2 writes it. */
export function encode(reply: Reply): string {
  if (reply === null) return '$-1\r\n';
  if (typeof reply === 'number') return `:${reply}\r\n`;
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`;
  if (reply instanceof RedisError) return `-${reply.message}\r\n`;
  if (reply instanceof Status) return `+${reply.text}\r\n`;
  return `*${reply.length}\r\n${reply.map(encode).join('')}`;
}
