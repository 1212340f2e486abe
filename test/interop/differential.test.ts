import { expect } from 'chai';
import { compareTraces } from './support/differential/compare';
import { randomOperations, WATCHDOG_MS } from './support/differential/operations';
import { type Step, traceOperations } from './support/differential/trace';
import { Stage } from './support/Stage';
import { describeWithJava } from './support/suites';

/** `INTEROP_SEEDS=1000-1100` looks further; `INTEROP_SEEDS=7` looks at one again. */
const [FROM = 1, TO = FROM] = (process.env['INTEROP_SEEDS'] ?? '1-20').split('-').map(Number);

const OPERATIONS = 120;

// The same random calls, through Java and through Node, each on an empty server. After every single call the result,
// the messages, and every key with its type, value and class of time to live must be the same on both, apart from the
// unlock-latch keys of Java and from the differences that `support/differential/compare.ts` lists.
describeWithJava('interop: the same calls leave the same data', () => {
  let javaStage: Stage;
  let nodeStage: Stage;

  before(async () => {
    const open = (): Promise<Stage> => Stage.open({ config: { lockWatchdogTimeout: WATCHDOG_MS } });
    [javaStage, nodeStage] = await Promise.all([open(), open()]);
  });

  after(async () => {
    await Promise.all([javaStage?.close(), nodeStage?.close()]);
  });

  for (let seed = FROM; seed <= TO; seed++) {
    it(`seed ${seed}: ${OPERATIONS} calls`, async () => {
      const operations = randomOperations(seed, OPERATIONS);
      const [java, node] = await Promise.all([javaStage.guest('java'), nodeStage.guest('node')]);
      const [expected, actual] = await Promise.all([
        traceOperations(java, javaStage.probe, operations),
        traceOperations(node, nodeStage.probe, operations),
      ]);
      await Promise.all([java.shutdown(), node.shutdown()]);
      expect(expected).to.have.length(OPERATIONS);
      const { difference } = compareTraces(operations, expected, actual);
      if (difference === undefined) return;
      const steps = expected
        .slice(0, difference.index + 1)
        .map(describeStep)
        .join('\n');
      expect(difference.node, `call ${difference.index + 1}\n${steps}\n`).to.deep.equal(difference.java);
    });
  }
});

function describeStep({ operation, result }: Step): string {
  return `${operation} -> ${JSON.stringify(result)}`;
}
