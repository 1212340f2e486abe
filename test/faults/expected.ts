/** What faults may end an operation with; anything else is a bug. */
const EXPECTED = new Set(['CONNECTION', 'COMMAND_TIMEOUT', 'LOCK_LOST', 'LOCK_TIMEOUT', 'SUBSCRIPTION_TIMEOUT']);
/** What a server that takes no writes refuses them with. */
const REFUSAL = /\b(OOM|MISCONF)\b/;
/** What a signal of the contenders aborts with. */
export const ENOUGH = new Error('enough');

/** Whether faults explain it. */
export function isExpected(error: unknown): boolean {
  if (error === ENOUGH) return true;
  const { code, cause } = error as { code?: string; cause?: { message?: string } };
  return EXPECTED.has(code ?? '') || (code === 'COMMAND' && REFUSAL.test(cause?.message ?? ''));
}
