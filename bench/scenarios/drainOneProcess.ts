import { drainScenario } from '../harness/drainScenario';

export { drainTasks as tasks } from '../harness/drainTasks';

/** A hundred one-shot waiters in one process. */
export const scenario = drainScenario({
  id: 'drainOneProcess',
  title: 'One-shot drain, 100 waiters in one process',
  processes: 1,
});
