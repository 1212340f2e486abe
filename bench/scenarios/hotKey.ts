import { hotKeyScenario } from '../harness/hotKeyScenario';

export { contentionTasks as tasks } from '../harness/contentionTasks';

/** Everybody wants one lock and does nothing with it. */
export const scenario = hotKeyScenario({
  id: 'hotKey',
  title: 'One hot key, 4 processes x 25 waiters, empty section',
  sectionMs: 0,
  windowMs: (plan) => plan.hotKeyMs,
});
