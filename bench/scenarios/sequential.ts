import { cycleScenario } from '../harness/cycleScenario';

export { cycleTasks as tasks } from '../harness/cycleScenario';

/** One process, one lock, one after the other. */
export const scenario = cycleScenario(
  {
    id: 'sequential',
    title: 'Sequential lock + unlock',
    about:
      'One process locks and unlocks one free lock, again and again. Ratio: cycles per second to those of the floor.',
  },
  1,
);
