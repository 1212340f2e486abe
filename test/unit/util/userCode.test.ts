import { expect } from 'chai';
import { setImmediate as turn } from 'node:timers/promises';
import { unmapName } from '../../../lib/config/validateName';
import { shownName } from '../../../lib/telemetry/shownName';
import { Listeners } from '../../../lib/util/listeners';
import { callUserCode } from '../../../lib/util/userCode';
import { logSafely } from '../../../lib/util/warn';

const fails = (): never => {
  throw new Error('mine');
};
const rejects = async (): Promise<never> => Promise.reject(new Error('mine'));

describe('code of the user', () => {
  let warnings: (Error & { code?: string })[];
  const heard = (warning: Error): unknown => warnings.push(warning);

  beforeEach(() => {
    warnings = [];
    process.on('warning', heard);
  });

  afterEach(() => process.off('warning', heard));

  async function warned(): Promise<string[]> {
    await turn();
    for (const { code } of warnings) expect(code).to.equal('IOREDISSON_LISTENER');
    return warnings.splice(0).map(({ message }) => message);
  }

  it('that throws is a warning, whatever it throws, and is no error of ours', async () => {
    const odd = Object.create(null) as unknown;
    for (const [thrown, text] of [
      [new Error('mine'), 'Error: mine'],
      [undefined, 'undefined'],
      [odd, 'a value without text'],
    ]) {
      const result = callUserCode('It', () => {
        throw thrown;
      });
      expect(result).to.equal(undefined);
      expect(await warned()).to.deep.equal([`It threw: ${String(text)}`]);
    }
  });

  it('that is asynchronous and rejects is a warning, and no unhandled rejection', async () => {
    void callUserCode('It', rejects);
    expect(await warned()).to.deep.equal(['It rejected: Error: mine']);
    const thenable = { then: (_: unknown, reject: (error: Error) => void) => reject(new Error('mine')) };
    callUserCode('It', () => thenable);
    expect(await warned()).to.deep.equal(['It rejected: Error: mine']);
    expect(await callUserCode('It', async () => 5)).to.equal(5);
    expect(await warned()).to.deep.equal([]);
  });

  it('of a listener: the others are called all the same', async () => {
    const listeners = new Listeners<number>('A listener');
    const told: number[] = [];
    listeners.add(fails);
    listeners.add(rejects);
    listeners.add((event) => told.push(event));
    listeners.tell(7);
    expect(told).to.deep.equal([7]);
    expect(await warned()).to.deep.equal(['A listener threw: Error: mine', 'A listener rejected: Error: mine']);
  });

  it('of a logger, of nameOf and of a name mapper is reported once for each', async () => {
    for (const log of [fails, rejects]) {
      const logger = { warn: log };
      for (let i = 0; i < 3; i++) logSafely(logger, 'warn', {}, 'text');
      expect(await warned()).to.have.lengthOf(1);
    }
    const mapper = { map: (name: string) => name, unmap: fails };
    for (let i = 0; i < 3; i++) expect(unmapName('key', mapper)).to.equal('key');
    expect(await warned()).to.deep.equal(['nameMapper.unmap threw: Error: mine']);
    expect(unmapName('key', { ...mapper, unmap: () => undefined as never })).to.equal('key');
    for (let i = 0; i < 3; i++) expect(shownName(fails, 'a')).to.equal(undefined);
    expect(await warned()).to.deep.equal(['nameOf threw: Error: mine']);
  });
});
