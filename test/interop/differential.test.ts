import { expect } from 'chai';
import { randomOperations } from './support/differential/operations';
import { type Step, traceOperations } from './support/differential/trace';
import { Stage } from './support/Stage';
import { describeWithJava } from './support/suites';

/** `INTEROP_SEEDS=1000-1100` looks further, or at one seed again. */
const [FROM = 1, TO = FROM] = (process.env['INTEROP_SEEDS'] ?? '1-12').split('-').map(Number);

const OPERATIONS = 120;

// The same random calls, through Java and through Node, each on an empty server. After every single call the result,
// the messages, and every key with its type, value and class of time to live must be the same on both.
describeWithJava('interop: the same calls leave the same data', () => {
  let javaStage: Stage;
  let nodeStage: Stage;

  before(async () => {
    [javaStage, nodeStage] = await Promise.all([Stage.open(), Stage.open()]);
  });

  after(async () => {
    await Promise.all([javaStage?.close(), nodeStage?.close()]);
  });

  for (let seed = FROM; seed <= TO; seed++) {
    it(`seed ${seed}: ${OPERATIONS} calls`, async () => {
      const operations = randomOperations(seed, OPERATIONS);
      const java = await javaStage.guest('java');
      const node = await nodeStage.guest('node');
      const [expected, actual] = await Promise.all([
        traceOperations(java, javaStage.probe, operations),
        traceOperations(node, nodeStage.probe, operations),
      ]);
      await Promise.all([java.shutdown(), node.shutdown()]);
      for (const [index, step] of actual.entries()) {
        const before = expected
          .slice(Math.max(0, index - 12), index)
          .map(describeStep)
          .join('\n');
        expect(step, `call ${index + 1}, after\n${before}\n`).to.deep.equal(expected[index]);
      }
    });
  }
});

function describeStep({ operation, result }: Step): string {
  return `${operation} -> ${JSON.stringify(result)}`;
}
