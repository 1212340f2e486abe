import { expect } from 'chai';
import { RequestParser } from '../../../bench/harness/CommandCounter';

function request(...args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join('')}`;
}

describe('bench: counting the commands a client sends', () => {
  it('counts one request per array, several in one write', () => {
    const parser = new RequestParser();
    expect(parser.read(request('PING'))).to.equal(1);
    expect(parser.read(request('SET', 'a', '1') + request('GET', 'a') + request('DEL', 'a'))).to.equal(3);
  });

  it('is not misled by values that look like requests', () => {
    expect(new RequestParser().read(request('SET', 'a', '*1\r\n$4\r\nPING\r\n'))).to.equal(1);
    expect(new RequestParser().read(request('SET', '', '') + request('PING'))).to.equal(2);
  });

  it('follows a request over any cuts', () => {
    const stream = request('EVALSHA', 'f'.repeat(40), '1', 'name') + request('SUBSCRIBE', 'c') + request('PING');
    for (const size of [1, 2, 3, 7, 50]) {
      const parser = new RequestParser();
      let counted = 0;
      for (let from = 0; from < stream.length; from += size) counted += parser.read(stream.slice(from, from + size));
      expect(counted, `pieces of ${size}`).to.equal(3);
    }
  });
});
