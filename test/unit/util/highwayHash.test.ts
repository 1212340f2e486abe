import { expect } from 'chai';
import { highwayHash128 } from '../../../lib/util/highwayHash';

/** Made by the Java client with its StringCodec. */
const VECTORS: Readonly<Record<string, string>> = {
  '': 't6rZwibGo2uy1OSmNVe8pg',
  a: 'qwvAS12pR0CgRitaypEjUw',
  abc: 'BhA5LsZVetaLy1jDRVlHJg',
  Jack_001: '7pNoDdizVy2xY792MaFv+w',
  Mary_002: 'kIX2DFOX4IWct7G7K6tV9A',
  '0123456789abcdef': '5qUj4dpRCsa+LSow2X8w7w',
  '0123456789abcdef0123456789abcde': 'zsxmZXDIjwSeXS/uD03XEQ',
  '0123456789abcdef0123456789abcdef': '08hr0B8iaf3PoSsWAS8sWA',
  '0123456789abcdef0123456789abcdef0123456789': 'RajIAtkm4l7eM9bs8Z73Iw',
};

describe('highwayHash128', () => {
  for (const [text, hash] of Object.entries(VECTORS)) {
    it(`of '${text}' is what Java makes of it`, () => {
      expect(highwayHash128(Buffer.from(text)).toString('base64').replace(/=+$/, '')).to.equal(hash);
    });
  }
});
