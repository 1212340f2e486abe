import { RedisError, type Reply, Status } from '../../../lib/testing/store/replies';

/** Reads replies of RESP2 from what arrives in pieces. Everything is text of bytes (latin1). */
export class ReplyParser {
  #text = '';
  #at = 0;

  /** @returns the replies that are complete */
  read(text: string): Reply[] {
    this.#text += text;
    const replies: Reply[] = [];
    for (;;) {
      this.#at = 0;
      const reply = this.#reply();
      if (reply === undefined) return replies;
      this.#text = this.#text.slice(this.#at);
      replies.push(reply);
    }
  }

  #line(): string | undefined {
    const end = this.#text.indexOf('\r\n', this.#at);
    if (end < 0) return undefined;
    const line = this.#text.slice(this.#at, end);
    this.#at = end + 2;
    return line;
  }

  #reply(): Reply | undefined {
    const line = this.#line();
    if (line === undefined) return undefined;
    const rest = line.slice(1);
    switch (line[0]) {
      case '+':
        return new Status(rest);
      case '-':
        return new RedisError(rest);
      case ':':
        return Number(rest);
      case '$': {
        if (rest === '-1') return null;
        const end = this.#at + Number(rest);
        if (this.#text.length < end + 2) return undefined;
        const text = this.#text.slice(this.#at, end);
        this.#at = end + 2;
        return text;
      }
      case '*': {
        const list: Reply[] = [];
        for (let i = 0; i < Number(rest); i++) {
          const item = this.#reply();
          if (item === undefined) return undefined;
          list.push(item);
        }
        return list;
      }
      case undefined:
      default:
        throw new Error(`no reply: ${line}`);
    }
  }
}
