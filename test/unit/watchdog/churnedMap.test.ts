import { expect } from 'chai';
import { ChurnedMap } from '../../../lib/watchdog/OwnershipTable';

describe('ChurnedMap', () => {
  it('is a map, also after its entries have moved', () => {
    const churned = new ChurnedMap<number, string>();
    const plain = new Map<number, string>();
    for (let i = 0; i < 5_000; i++) {
      churned.set(i, `v${i}`);
      plain.set(i, `v${i}`);
      // 100 live ones, taken out in another order than they came.
      const gone = i % 2 === 0 ? i - 100 : i - 98;
      expect(churned.delete(gone)).to.equal(plain.delete(gone));
      expect(churned.size).to.equal(plain.size);
    }
    expect([...churned.values()]).to.deep.equal([...plain.values()]);
    for (let i = 0; i < 5_000; i++) expect(churned.get(i)).to.equal(plain.get(i));
    churned.clear();
    expect(churned.size).to.equal(0);
  });
});
