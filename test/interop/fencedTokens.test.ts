import { expect } from 'chai';
import { uniqueName } from '../support/uniqueName';
import { at } from './support/paths';
import { Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';

describeWithJava('interop: the tokens of a fenced lock', () => {
  let stage: Stage;

  before(async () => {
    stage = await Stage.shared();
  });

  bothWays('are one growing sequence', async (first, second) => {
    const fenced = at.fenced(uniqueName());
    const sides = [first, second, first, first, second, second].map((side) => stage.peer(side).thread('holder'));
    const tokens: unknown[] = [];
    for (const thread of sides) {
      tokens.push(await thread.call(fenced, 'lockAndGetToken'));
      expect(await stage.peer(second).call(fenced, 'tryLockAndGetToken', 0, 'MILLISECONDS')).to.equal(null);
      expect(await stage.peer(first).call(fenced, 'getToken')).to.equal(tokens.at(-1));
      await thread.call(fenced, 'unlock');
    }
    expect(tokens).to.deep.equal([1, 2, 3, 4, 5, 6]);
  });

  bothWays('grow with plain locking and with re-entry, too', async (first, second) => {
    const fenced = at.fenced(uniqueName());
    const [a, b] = [stage.peer(first).thread('a'), stage.peer(second).thread('b')];
    await a.call(fenced, 'lock');
    expect(await a.call(fenced, 'lockAndGetToken')).to.equal(2);
    expect(await b.call(fenced, 'getToken')).to.equal(2);
    await a.call(fenced, 'unlock');
    await a.call(fenced, 'unlock');
    expect(await b.call(fenced, 'tryLockAndGetToken', 1, 10, 'SECONDS')).to.equal(3);
    await b.call(fenced, 'unlock');
  });
});
