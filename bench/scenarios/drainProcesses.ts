import { drainScenario } from '../harness/drainScenario';

export { drainTasks as tasks } from '../harness/drainTasks';

/** A hundred one-shot waiters in four processes. */
export const scenario = drainScenario({
  id: 'drainProcesses',
  title: 'One-shot drain, 4 processes x 25 waiters',
  processes: 4,
});
