import { hotKeyScenario } from '../harness/hotKeyScenario';

export { contentionTasks as tasks } from '../harness/contentionTasks';

/** Everybody wants one lock and stays 5 ms inside. */
export const scenario = hotKeyScenario({
  id: 'hotKeySection',
  title: 'One hot key, 4 processes x 25 waiters, 5 ms inside',
  sectionMs: 5,
  windowMs: (plan) => plan.hotKeySectionMs,
});
