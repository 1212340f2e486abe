import { expect } from 'chai';
import { RespFrames } from '../../support/respFrames';

const REPLIES = [
  '+OK\r\n',
  '$5\r\na\r\nbc\r\n',
  '$-1\r\n',
  '*2\r\n:1\r\n*1\r\n$0\r\n\r\n',
  '*-1\r\n',
  '%1\r\n+a\r\n#t\r\n',
  '-ERR no\r\n',
];

describe('RespFrames', () => {
  for (const size of [1, 2, 7, 1000]) {
    it(`finds every frame in chunks of ${size} bytes`, () => {
      const bytes = Buffer.from(REPLIES.join(''));
      const frames = new RespFrames();
      const found: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        found.push(...frames.push(bytes.subarray(at, at + size)).map(String));
      }
      expect(found).to.deep.equal(REPLIES);
    });
  }
});
