import { expect } from 'chai';
import sinon, { type SinonFakeTimers } from 'sinon';
import { permitWaits } from '../../../lib/synchronizers/permitNumber';
import { LongWaits } from '../../../lib/waiters/LongWaits';
import { fakeClock } from '../../support';

interface Wait {
  readonly name: string;
}

describe('calls that wait for long', () => {
  let clock: SinonFakeTimers;
  let checked: string[][];
  let warned: string[];
  const A = { name: 'a' };
  const B = { name: 'b' };

  beforeEach(() => {
    clock = fakeClock();
    checked = [];
    warned = [];
  });

  afterEach(() => sinon.restore());

  function longWaits(check?: (due: readonly Wait[], waits: LongWaits<Wait>) => void): LongWaits<Wait> {
    return new LongWaits<Wait>(
      (due, waits) => {
        checked.push(due.map(({ name }) => name));
        check?.(due, waits);
      },
      ({ name }) => warned.push(name),
    );
  }

  it('share one timer, and none is left when the last one has ended', () => {
    const waits = longWaits();
    for (let i = 0; i < 1_000; i++) waits.begin({ name: String(i) });
    waits.begin(A);
    expect(clock.countTimers()).to.equal(1);
    clock.tick(5_100);
    expect(checked.map(({ length }) => length)).to.deep.equal([1_001]);
    waits.end(A);
    expect(clock.countTimers()).to.equal(1);
    const other = longWaits();
    other.begin(B);
    other.end(B);
    expect(clock.countTimers()).to.equal(1);
  });

  it('are checked every 5 s, until one is found; that is told once', () => {
    const waits = longWaits();
    waits.begin(A, performance.now() - 3_000);
    waits.begin(B);
    clock.tick(11_000);
    expect(checked).to.deep.equal([['a'], ['b'], ['a'], ['b']]);
    waits.found(B);
    waits.found(A);
    waits.begin(A);
    clock.tick(20_000);
    expect([warned, checked.length, clock.countTimers()]).to.deep.equal([['b'], 4, 0]);
  });

  it('are not told of when they have ended during their check', () => {
    const waits = longWaits();
    waits.begin(A);
    clock.tick(5_000);
    expect(checked).to.deep.equal([['a']]);
    waits.end(A);
    waits.found(A);
    expect(warned).to.deep.equal([]);
  });

  it('for permits: one question for each semaphore, none again where it is there; ended meanwhile: no warning', async () => {
    const warnings: unknown[] = [];
    sinon.stub(process, 'emitWarning').callsFake((text) => void warnings.push(text));
    const answers: ((there: unknown) => void)[] = [];
    const waits = permitWaits({ call: () => new Promise((resolve) => answers.push(resolve)) });
    const [one, two, other] = [
      { name: 's', key: 's' },
      { name: 's', key: 's' },
      { name: 'x', key: 'x' },
    ];
    for (const wait of [one, two, other]) waits.begin(wait);
    await clock.tickAsync(5_000);
    expect(answers).to.have.lengthOf(2);
    // Its call ended while the question waited for a connection; then the semaphore was deleted.
    waits.end(other);
    answers[1]!(0);
    answers[0]!(1);
    await clock.tickAsync(20_000);
    expect([answers.length, clock.countTimers(), warnings]).to.deep.equal([2, 0, []]);
    waits.begin(two);
    await clock.tickAsync(5_000);
    answers[2]!(0);
    await clock.tickAsync(0);
    expect(warnings).to.have.lengthOf(1);
  });
});
