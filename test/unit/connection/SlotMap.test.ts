import { expect } from 'chai';
import { SlotMap } from '../../../lib/connection/cluster/SlotMap';

const ASKED = { host: '10.0.0.9', port: 7009 };
const A = ['10.0.0.1', 7001, 'id-a'];
const B = ['10.0.0.2', 7002, 'id-b'];
const REPLICA = ['10.0.0.3', 7003, 'id-c'];

describe('SlotMap', () => {
  const plain = () => new SlotMap((address) => address);

  it('knows the master of every slot, and the replicas', () => {
    const map = plain();
    expect([map.complete, map.ownerOf(0)]).to.deep.equal([false, undefined]);
    expect(
      map.load(
        [
          [0, 8191, A, REPLICA],
          [8192, 16383, B],
        ],
        ASKED,
      ),
    ).to.equal('grown');
    expect([map.ownerOf(0), map.ownerOf(8191), map.ownerOf(8192), map.ownerOf(16383)]).to.deep.equal([
      '10.0.0.1:7001',
      '10.0.0.1:7001',
      '10.0.0.2:7002',
      '10.0.0.2:7002',
    ]);
    expect(map.complete).to.equal(true);
    expect([...map.masters.keys()]).to.deep.equal(['10.0.0.1:7001', '10.0.0.2:7002']);
    expect(map.all.map(({ port }) => port)).to.deep.equal([7001, 7002, 7003]);
  });

  it('tells whether slots went from one to another', () => {
    const map = plain();
    map.load([[0, 8191, A]], ASKED);
    expect(map.load([[0, 8191, A]], ASKED)).to.equal('same');
    expect(
      map.load(
        [
          [0, 8191, A],
          [8192, 16383, B],
        ],
        ASKED,
      ),
    ).to.equal('grown');
    expect(
      map.load(
        [
          [0, 8190, A],
          [8191, 16383, B],
        ],
        ASKED,
      ),
    ).to.equal('moved');
    expect(map.load([[0, 8190, A]], ASKED)).to.equal('moved');
  });

  it('takes a host that is left out for that of the node that was asked', () => {
    for (const host of ['', null, '?']) {
      const map = plain();
      map.load([[0, 16383, [host, 7001, 'id']]], ASKED);
      expect(map.ownerOf(5)).to.equal('10.0.0.9:7001');
      expect(map.redirect('MOVED 5 :7005', ASKED)).to.deep.equal({ host: '10.0.0.9', port: 7005 });
    }
  });

  it('follows a MOVED, not an ASK', () => {
    const map = plain();
    map.load([[0, 16383, A]], ASKED);
    expect(map.redirect('ASK 7 10.0.0.2:7002', ASKED)).to.deep.equal({ host: '10.0.0.2', port: 7002 });
    expect(map.ownerOf(7)).to.equal('10.0.0.1:7001');
    expect(map.redirect('MOVED 7 fe80::1:7002', ASKED)).to.deep.equal({ host: 'fe80::1', port: 7002 });
    expect([map.ownerOf(7), map.ownerOf(8)]).to.deep.equal(['fe80::1:7002', '10.0.0.1:7001']);
    expect(map.masters.has('fe80::1:7002')).to.equal(true);
  });

  it('ignores a redirection that makes no sense', () => {
    const map = plain();
    for (const text of [
      'MOVED',
      'MOVED x 1.2.3.4:1',
      'MOVED 16384 1.2.3.4:1',
      'MOVED -1 1.2.3.4:1',
      'MOVED __proto__ a:1',
    ]) {
      expect(map.redirect(text, ASKED), text).to.equal(undefined);
    }
    expect(map.masters.size).to.equal(0);
  });

  it('translates addresses', () => {
    const map = new SlotMap(({ port }) => ({ host: 'gate', port: port + 1000 }));
    map.load([[0, 16383, A, REPLICA]], ASKED);
    expect(map.ownerOf(1)).to.equal('gate:8001');
    expect(map.redirect('MOVED 1 10.0.0.2:7002', ASKED)).to.deep.equal({ host: 'gate', port: 8002 });
    expect(map.ownerOf(1)).to.equal('gate:8002');
  });
});
