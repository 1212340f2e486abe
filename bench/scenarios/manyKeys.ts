import { cycleScenario } from '../harness/cycleScenario';

export { cycleTasks as tasks } from '../harness/cycleScenario';

/** One process, a hundred locks at once. */
export const scenario = cycleScenario(
  {
    id: 'manyKeys',
    title: '100 keys at once',
    about: 'One process locks and unlocks 100 free locks concurrently. Ratio: cycles per second to those of the floor.',
  },
  100,
);
